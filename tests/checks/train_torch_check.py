#!/usr/bin/env python3
"""samples/train_torch as far as it can be checked without a GPU: arguments, what it says, and the order of the ranges and of what
stands in the way, with a stand-in for torch. Where PyTorch is, a small model is trained on the CPU.

train_torch_check.py SOURCE_DIR
"""
import importlib.util
import os
import pathlib
import py_compile
import socket
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

FOLDER = pathlib.Path(sys.argv[1]).resolve() / "samples/train_torch"
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("RANK", "LOCAL_RANK")}


def run(*arguments, **env):
    return subprocess.run([sys.executable, "-B", FOLDER / "train.py", *arguments], capture_output=True, text=True,
                          env={**ENVIRONMENT, **env}, timeout=60)


def load():
    spec = importlib.util.spec_from_file_location("train_torch_sample", FOLDER / "train.py")
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


class Arguments(unittest.TestCase):
    def test_files_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            for source in sorted(FOLDER.glob("*.py")):
                py_compile.compile(source, cfile=os.path.join(folder, "x.pyc"), doraise=True)

    def test_help_and_list(self):
        self.assertIn("--bottleneck {healthy,launch,sync,dataloader,recompute,offload}", run("--help").stdout)
        listed = run("--list")
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        self.assertEqual([line.split()[0] for line in listed.stdout.splitlines()],
                         ["healthy", "launch", "sync", "dataloader", "recompute", "offload"])

    def test_what_the_report_should_say_is_a_cause_of_the_contract(self):
        names = (FOLDER.parent.parent / "schemas/facts.sql").read_text()
        causes = next(line for line in names.splitlines() if line.strip().startswith("cause TEXT") and "launch_bound" in line)
        for cause in load().EXPECTED.values():
            self.assertIn(f" {cause} ", causes + " ")

    def test_wrong_arguments(self):
        for arguments, word in ((["--bottleneck", "none"], "invalid choice"), (["--steps", "0"], "--steps"),
                                (["--width", "100"], "multiple of 64"), (["--parallel", "ddp"], "torchrun")):
            ran = run(*arguments)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn(word, ran.stderr)
        self.assertEqual(run("--parallel", "ddp", "--list").returncode, 0)

    def test_defaults_of_the_small_model(self):
        parse = load().parse
        self.assertEqual((parse(["--bottleneck", "launch"]).width, parse([]).width, parse(["--width", "64"]).width), (128, 1024, 64))

    def test_without_pytorch_it_says_so(self):
        if importlib.util.find_spec("torch") is not None:
            self.skipTest("PyTorch is here")
        ran = run("--steps", "1")
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertEqual(ran.stderr, "train.py: expected PyTorch, found none; install it as pytorch.org says for your GPU\n")


class Order(unittest.TestCase):
    """The loop with a stand-in for torch: MagicMock takes every call and remembers it."""

    def train(self, *arguments, **env):
        sample = load()
        torch = mock.MagicMock()
        torch.utils.data = types.SimpleNamespace(IterableDataset=object, DataLoader=lambda data, **options: iter(data))
        model_file = mock.MagicMock()
        parameters = [mock.MagicMock() for _ in range(3)]
        for wrapped in (model_file.Gpt.return_value.to.return_value,
                        torch.nn.parallel.DistributedDataParallel.return_value):
            wrapped.parameters.return_value = parameters
            wrapped.return_value.item.return_value = 1.0
        with mock.patch.dict(sys.modules, {"torch": torch, "model": model_file, "torch.distributed.fsdp": mock.MagicMock()}), \
                mock.patch.dict(os.environ, env), mock.patch("builtins.print"):
            sample.train(sample.parse(["--steps", "3", *arguments]))
        pushed = [c.args[0] for c in torch.cuda.nvtx.range_push.call_args_list]
        self.assertEqual(pushed, ["iteration", "forward", "backward", "optimizer"] * 3)
        self.assertEqual(torch.cuda.nvtx.range_pop.call_count, len(pushed))
        return torch, model_file.Gpt, parameters

    def test_every_bottleneck_runs_and_only_its_own_thing_is_in_the_way(self):
        for name in load().BOTTLENECKS:
            with self.subTest(name):
                torch, gpt, parameters = self.train("--bottleneck", name, "--load-ms", "8")
                self.assertEqual(sum(p.grad.norm.return_value.item.call_count for p in parameters), 9 if name == "sync" else 0)
                self.assertEqual(torch.autograd.graph.save_on_cpu.called, name == "offload")
                self.assertEqual(gpt.call_args.args[-1], name == "recompute")
                self.assertEqual(torch.optim.AdamW.call_args.kwargs["foreach"], name != "launch")
                # A batch is made once, or in the loop, sample by sample.
                self.assertEqual(torch.randint.call_count, 3 if name == "dataloader" else 1)

    def test_ranks(self):
        torch, gpt, _ = self.train("--parallel", "ddp", "--model", "moe", RANK="1", LOCAL_RANK="1")
        self.assertTrue(torch.nn.parallel.DistributedDataParallel.call_args.kwargs["find_unused_parameters"])
        self.assertEqual(gpt.call_args.args[-2], 8)
        torch.distributed.init_process_group.assert_called_once_with("nccl")
        torch.distributed.destroy_process_group.assert_called_once()


@unittest.skipIf(importlib.util.find_spec("torch") is None, "needs PyTorch")
class OnTheCpu(unittest.TestCase):
    SMALL = ("--device", "cpu", "--steps", "2", "--batch", "1", "--length", "32", "--width", "64", "--layers", "1", "--vocabulary", "128")

    def test_small_models_are_trained(self):
        losses = set()
        for more in ([], ["--bottleneck", "recompute"], ["--bottleneck", "offload"]):
            ran = run(*self.SMALL, *more, OMP_NUM_THREADS="1")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            losses.add(ran.stdout.split()[-1])
        self.assertEqual(len(losses), 1, losses)  # what is in the way changes nothing
        ran = run(*self.SMALL, "--model", "moe", "--bottleneck", "dataloader", "--load-ms", "1", OMP_NUM_THREADS="1")
        self.assertRegex(ran.stdout, r"^2 steps of \d+\.\d ms, loss \d\.\d{3}$")

    def test_two_ranks(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        jobs = [subprocess.Popen([sys.executable, "-B", FOLDER / "train.py", *self.SMALL, "--parallel", "ddp"], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**ENVIRONMENT, "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                                      "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}) for rank in "01"]
        said = [job.communicate(timeout=120) for job in jobs]
        self.assertEqual([job.returncode for job in jobs], [0, 0], said)
        self.assertIn("2 steps of", said[0][0])
        self.assertEqual(said[1][0], "")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
