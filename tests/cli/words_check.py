#!/usr/bin/env python3
"""Words that hold for experts, pipelines or Megatron alone are not said to a dense model of PyTorch: words_check.py WALLSIGHT CHECKOUT"""
import glob
import gzip
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
TRACES = os.path.join(ROOT, "samples", "kineto")
OTHERS = r"[Ee]xperts?\b|MoE|dispatcher|routing|pipeline (rank|stage|par)|virtual stage|NVTE|Megatron|--[a-z-]*(moe|micro-batch|recompute)"


def run(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=120)


def words_of_others(text):
    """Lines with such words; sources, in brackets or in a table, may name Megatron."""
    lines = [re.sub(r"\(Megatron[^)]*\)", "", line) for line in text.split("\n") if "source:" not in line and not line.startswith("|")]
    return [line for line in lines if re.search(OTHERS, line)]


class Words(unittest.TestCase):
    def test_a_dense_model_of_pytorch_reads_no_words_of_other_runs(self):
        for name in ("llama3_8b_torchtitan.toml", "ddp_native.json"):
            path = os.path.join(ROOT, "samples", "config", name)
            for more in (["--gpus", "8", "--platform", "h100"], ["--gpus", "8", "--platform", "a100"], []):
                done = run("plan", path, *more, "--report", "md")
                self.assertEqual((done.returncode, words_of_others(done.stdout)), (0, []), (name, more))

    def test_a_recording_of_ddp_reads_no_words_of_other_runs(self):
        renamed = (("DATA_PARALLEL_GROUP", "mesh_dp"), ('"name": "aten::log_softmax"', '"name": "DistributedDataParallel.forward"'),
                   ("void transformer_engine::normalization::", "void at::native::norm"))
        for name in ("launch_bound", "data_parallel_tail", "recompute"):
            with tempfile.TemporaryDirectory() as folder:
                for path in glob.glob(os.path.join(TRACES, name, "*.json.gz")):
                    with gzip.open(path, "rt") as f:
                        text = f.read()
                    for old, new in renamed:
                        text = text.replace(old, new)
                    with gzip.open(os.path.join(folder, os.path.basename(path)), "wt") as f:
                        f.write(text)
                done = run("analyze", folder, "--all", "--report", "md")
                self.assertEqual((done.returncode, words_of_others(done.stdout)), (0, []), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
