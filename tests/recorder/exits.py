"""Every way in which a Python process ends: exit code and output are its own, and its file is whole up to the last second."""
import signal
import sys
import unittest

from harness import Recorder, frames_of, sanitized

JOB = """
import ctypes, multiprocessing, os, signal, subprocess, sys, threading, time
sim = ctypes.CDLL(os.environ["WALLSIGHT_CUPTI"], ctypes.RTLD_GLOBAL)

class Kernel(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("start", ctypes.c_uint64), ("end", ctypes.c_uint64)] + [
        (n, ctypes.c_uint32) for n in ("device", "context", "stream", "correlation", "graph")] + [("node", ctypes.c_uint64)]

def work(count):
    for i in range(count):
        now = time.monotonic_ns()
        sim.cuptisim_kernel(ctypes.byref(Kernel(b"gemm", now, now + 1000, 0, 1, 7, i + 1, 0, 0)))

def init():
    ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()

def child(count):
    init()
    work(count)

if __name__ == "__main__":
    way = sys.argv[1]
    init()
    time.sleep(0.2)
    work(50)
    print("worked", flush=True)
    if way == "sys.exit": sys.exit(3)
    if way == "os._exit": os._exit(4)
    if way == "sigterm": os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)
    if way == "sigint": os.kill(os.getpid(), signal.SIGINT); time.sleep(9)
    if way == "abort": os.abort()
    if way == "sigkill": os.kill(os.getpid(), signal.SIGKILL)
    if way == "raise": raise SystemError("mine")
    if way == "daemon": threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    if way in ("fork", "spawn"):
        p = multiprocessing.get_context(way).Process(target=child, args=(70,))
        p.start(); p.join()
        print("child", p.exitcode)
    if way == "subprocess":
        print("child", subprocess.run([sys.executable, sys.argv[0], "return"], stdout=subprocess.DEVNULL).returncode)
    if way == "failed_exec":  # a child of vfork leaves by _exit, in the memory of its parent
        try: subprocess.run(["/no/such/program"])
        except FileNotFoundError: pass
        work(50)
    if way == "exec":
        os.execv(sys.executable, [sys.executable, sys.argv[0], "return"])
    if way == "slow": time.sleep(1.6); os._exit(5)
"""


class Exits(Recorder):
    # way, exit code, output behind "worked", files, kernels in all of them at least; the last column: it ended in order
    MATRIX = [
        ("return", 0, "", 1, 50, True), ("sys.exit", 3, "", 1, 50, True), ("raise", 1, "", 1, 50, True),
        ("daemon", 0, "", 1, 50, True),
        # C's atexit does not run for these: what was written stays.
        ("sigint", -signal.SIGINT, "", 1, 0, False), ("os._exit", 4, "", 1, 0, False), ("sigterm", -signal.SIGTERM, "", 1, 0, False), ("abort", -signal.SIGABRT, "", 1, 0, False),
        ("sigkill", -signal.SIGKILL, "", 1, 0, False),
        ("slow", 5, "", 1, 50, False),
        # A fork child is inert, all others are processes of their own.
        ("fork", 0, "child 0\n", 1, 50, True), ("spawn", 0, "child 0\n", 2, 120, True), ("subprocess", 0, "child 0\n", 2, 100, True),
        ("failed_exec", 0, "", 1, 100, True), ("exec", 0, "worked\n", 2, 50, True)]

    def setUp(self):
        super().setUp()
        if sanitized():
            raise unittest.SkipTest("needs a library that Python can load")
        self.job = self.folder / "job.py"
        self.job.write_text(JOB)

    def test_matrix(self):
        self.walk(self.MATRIX)

    def test_preloaded_a_process_that_leaves_by_exit_ends_its_recording(self):
        ways = {"os._exit": ("os._exit", 4, "", 1, 50, True), "slow": ("slow", 5, "", 1, 50, True)}
        self.walk([ways.get(row[0], row) for row in self.MATRIX], ["--preload"])

    def walk(self, matrix, options=()):
        for way, code, output, files, kernels, in_order in matrix:
            with self.subTest(way):
                self.out = self.folder / way
                ran = self.record(sys.executable, self.job, way, options=options)
                self.assertEqual((ran.returncode, ran.stdout), (code, "worked\n" + output), ran.stderr)
                recorder_words = [line for line in ran.stderr.splitlines() if line.startswith("wallsight")]
                self.assertEqual(recorder_words, [f"wallsight: recording into {self.out}"])
                self.assertEqual(len(self.files()), files)
                for path in self.files():
                    sequence, tail = frames_of(path)
                    self.assertEqual((sequence, tail), (list(range(len(sequence))), 0))
                # What ran before an exec is another run at another time.
                report = self.analyze(self.files()[-1] if way == "exec" else self.out, options=["--step-window", "whole", "--no-what-if"])
                notes = self.notes(report)
                self.assertGreaterEqual(sum(k["count"] for k in report["kernels"]), kernels)
                self.assertEqual("recording_unfinished" in notes, not in_order)
                self.assertNotIn("records_lost", notes)
