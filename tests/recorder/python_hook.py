"""A Python job: what it does between kernels is told apart by the sitecustomize hook."""
import subprocess
import sys
import unittest

from harness import Recorder, clean_environment, sanitized

# Plays driver, CUPTI and a training loop; what happens between two kernels is the argument.
JOB = """
import ctypes, gc, os, sys, threading, time
if sys.argv[1] == "dataload":
    from torch.utils.data.dataloader import _BaseDataLoaderIter
    loader = _BaseDataLoaderIter()
sim = ctypes.CDLL(os.environ["WALLSIGHT_CUPTI"], ctypes.RTLD_GLOBAL)
library = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
library.InitializeInjection()
library.wallsight_range.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64]

class Kernel(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("start", ctypes.c_uint64), ("end", ctypes.c_uint64)] + [
        (n, ctypes.c_uint32) for n in ("device", "context", "stream", "correlation", "graph")] + [("node", ctypes.c_uint64)]

class Call(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("start", ctypes.c_uint64), ("end", ctypes.c_uint64), ("thread", ctypes.c_uint32),
                ("correlation", ctypes.c_uint32)]

count = 0
def launch():
    global count
    count += 1
    now = time.monotonic_ns()
    sim.cuptisim_call(ctypes.byref(Call(b"cudaLaunchKernel_v7000", now, now + 3000, threading.get_native_id(), count)))
    sim.cuptisim_kernel(ctypes.byref(Kernel(b"gemm", now + 5000, now + 505000, 0, 1, 7, count, 0, 0)))
    time.sleep(0.0006)

gc.disable()
live = [[i] for i in range(300000)] if sys.argv[1] == "gc" else []
for step in range(8):
    begin = time.monotonic_ns()
    for _ in range(4): launch()
    if sys.argv[1] == "gc":
        gc.collect()
    elif sys.argv[1] == "dataload":
        next(loader)
    else:
        time.sleep(0.01)
    launch()
    library.wallsight_range(b"iteration", begin, time.monotonic_ns())
print("done")
"""


class PythonHook(Recorder):
    def setUp(self):
        super().setUp()
        if sanitized():
            raise unittest.SkipTest("needs a library that Python can load")
        self.job = self.folder / "job.py"
        self.job.write_text(JOB)
        package = self.folder / "lib/torch/utils/data"
        package.mkdir(parents=True)
        for folder in (package, package.parent, package.parent.parent):
            (folder / "__init__.py").write_text("")
        (package / "dataloader.py").write_text(
            "import time\nclass _BaseDataLoaderIter:\n    def __next__(self):\n        time.sleep(0.012)\n        return 1\n")

    def python(self, *arguments, options=("--python",), env=None):
        ran = self.record(sys.executable, *arguments, options=options, env={"PYTHONPATH": self.folder / "lib", **(env or {})})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        said = [line for line in ran.stderr.splitlines() if "expected a recording when the command ended" not in line]
        self.assertEqual(said, [f"wallsight: recording into {self.out}"])
        return ran.stdout

    def share(self, report, leaf):
        return report["partition"]["share"].get(leaf, 0)

    def test_garbage_collection_and_waiting_for_data_are_told_apart(self):
        for what, leaf, cause in (("gc", "idle.gc", "gc_pause"), ("dataload", "idle.dataload", "input_pipeline")):
            with self.subTest(what):
                self.out = self.folder / what
                self.assertEqual(self.python(self.job, what), "done\n")
                report = self.analyze(options=["--no-what-if"])
                self.assertEqual(report["steps"]["count"], 8)
                self.assertGreater(self.share(report, leaf), 0.1)
                self.assertEqual(report["verdict"]["cause"], cause)
                other = {"idle.gc", "idle.dataload"} - {leaf}
                self.assertEqual([self.share(report, o) for o in other], [0])

    def test_without_the_hook_nobody_knows(self):
        self.python(self.job, "gc", options=())
        report = self.analyze(options=["--no-what-if"])
        self.assertEqual(self.share(report, "idle.gc"), 0)

    def test_another_sitecustomize_runs_as_without_ours(self):
        other = self.folder / "lib/sitecustomize.py"
        program = "import sys, os; print(sys.modules['sitecustomize'].__file__, [p for p in sys.path if 'wallsight' in p])"
        plain = subprocess.run([sys.executable, "-c", program.replace("sys.modules['sitecustomize'].__file__", "1")],
                               capture_output=True, text=True, env=clean_environment(PYTHONPATH=self.folder / "lib")).stdout
        other.write_text("print('mine')\n")
        self.assertEqual(self.python("-c", program), f"mine\n{other} []\n")
        self.assertEqual(plain, "1 []\n")
        other.write_text("raise ValueError('broken')\n")
        ran = self.record(sys.executable, "-c", "print(1)", options=["--python"], env={"PYTHONPATH": self.folder / "lib"})
        self.assertEqual((ran.returncode, ran.stdout), (0, "1\n"))
        self.assertIn("Error in sitecustomize", ran.stderr)
        other.write_text("import no_such_module\n")
        ran = self.record(sys.executable, "-c", "print(1)", options=["--python"], env={"PYTHONPATH": self.folder / "lib"})
        self.assertEqual((ran.returncode, ran.stdout), (0, "1\n"))
        self.assertIn("no_such_module", ran.stderr)

    def test_imported_modules_are_the_real_ones(self):
        program = ("import ctypes, inspect, sys\n"
                   "print(type(ctypes.__loader__).__name__, 'Structure' in inspect.getsource(ctypes))\n"
                   "import torch.utils.data.dataloader as d\n"
                   "print(d._BaseDataLoaderIter.__next__.__wrapped__ is not None, sys.flags.no_site)")
        self.assertEqual(self.python("-c", program), "SourceFileLoader True\nTrue 0\n")
        self.assertEqual(self.files(), [])

    def test_children_have_it_too(self):
        program = ("import subprocess, sys\n"
                   "print(subprocess.run([sys.executable, '-c', \"import sys; print('wallsight_sitecustomize' in sys.modules)\"],"
                   " capture_output=True, text=True).stdout)")
        self.assertEqual(self.python("-c", program), "True\n\n")
