"""The plug-in of NCCL's profiler interface, called as NCCL calls it, in every version that it has."""
import sys
import unittest

from harness import Recorder, decoded, sanitized

# Plays driver, CUPTI and NCCL for one rank. Descriptors are written byte by byte, as NCCL's documentation lays them out.
JOB = """
import ctypes, os, struct, sys, threading, time
version, steps = int(sys.argv[1]), int(sys.argv[2])
sim = ctypes.CDLL(os.environ["WALLSIGHT_CUPTI"], ctypes.RTLD_GLOBAL)
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
library = ctypes.CDLL(os.environ["NCCL_PROFILER_PLUGIN"])
table = (ctypes.c_void_p * 6).in_dll(library, f"ncclProfiler_v{version}")
assert ctypes.cast(table[0], ctypes.c_char_p).value == b"wallsight"
P, I, U = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64
context, mask, kept = P(), I(), []
if version <= 3:
    code = ctypes.CFUNCTYPE(I, P, P)(table[1])(ctypes.addressof(context), ctypes.addressof(mask))
elif version == 4:
    code = ctypes.CFUNCTYPE(I, P, P, ctypes.c_char_p, U, I, I, I, P)(table[1])(
        ctypes.addressof(context), ctypes.addressof(mask), b"comm", 2**64 - 7, 1, 2, int(os.environ["RANK"]), None)
else:
    code = ctypes.CFUNCTYPE(I, P, U, P, ctypes.c_char_p, I, I, I, P)(table[1])(
        ctypes.addressof(context), 2**64 - 7, ctypes.addressof(mask), b"comm", 1, 2, int(os.environ["RANK"]), None)
assert mask.value & 6 == 6, mask
if code != 0:
    print("not wanted"), sys.exit()
start = ctypes.CFUNCTYPE(I, P, P, P)(table[2])
stop = ctypes.CFUNCTYPE(I, P)(table[3])
state = ctypes.CFUNCTYPE(I, P, I, P)(table[4])
finalize = ctypes.CFUNCTYPE(I, P)(table[5])

def text(s):
    kept.append(ctypes.create_string_buffer(s))
    return ctypes.addressof(kept[-1])

def begin(kind, fields):
    raw = ctypes.create_string_buffer(512)
    struct.pack_into("<Q" if version >= 5 else "<B", raw, 0, kind)
    struct.pack_into("<QI", raw, 8, 0, int(os.environ["RANK"]))
    head = struct.pack("<QQ", text(b"comm"), 2**64 - 7) if version <= 3 else b""
    raw[24:24 + len(head + fields)] = head + fields
    handle = P(1)
    assert start(context, ctypes.addressof(handle), ctypes.addressof(raw)) == 0
    return handle

def collective(function, count, sequence):
    return begin(2, struct.pack("<QQQQQixxxxQ", sequence, text(function), 0, 0, count, -1, text(b"ncclFloat32")))

def peer(function, count, to):
    return begin(4, struct.pack("<QQQQi", text(function), 0, text(b"ncclBfloat16"), count, to))

class Kernel(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("start", U), ("end", U)] + [
        (n, ctypes.c_uint32) for n in ("device", "context", "stream", "correlation", "graph")] + [("node", U)]

class Call(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("start", U), ("end", U), ("thread", ctypes.c_uint32), ("correlation", ctypes.c_uint32)]

count = 0
def launch(name, stream, length):
    global count
    count += 1
    now = time.monotonic_ns()
    sim.cuptisim_call(ctypes.byref(Call(b"cudaLaunchKernel_v7000", now, now + 3000, threading.get_native_id(), count)))
    sim.cuptisim_kernel(ctypes.byref(Kernel(name, now + 5000, now + 5000 + length, int(os.environ["RANK"]), 1, stream, count, 0, 0)))
    time.sleep(length / 1e9)

assert begin(8, bytes(100)).value is None  # a kind that was not asked for
library.wallsight_range.argtypes = [ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64]
for step in range(steps):
    at = time.monotonic_ns()
    launch(b"gemm", 7, 300000)
    group = [collective(b"AllReduce", 1024 + i, 1000 + 2 * step + i) for i in range(2)]
    launch(b"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 20, 200000)
    for handle in group:
        assert state(handle, 1, None) == 0 and stop(handle) == 0
    handle = peer(b"Send", 64, 1)
    launch(b"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 20, 100000)
    stop(handle)
    library.wallsight_range(b"iteration", at, time.monotonic_ns())
    time.sleep(float(os.environ.get("JOB_PAUSE", "0")))
stop(None)
assert finalize(context) == 0
print("done")
"""


class NcclProfiler(Recorder):
    def setUp(self):
        super().setUp()
        if sanitized():
            raise unittest.SkipTest("needs a library that Python can load")
        self.job = self.folder / "job.py"
        self.job.write_text(JOB)

    def job_of(self, version, rank, steps=6, options=("--nccl",), **env):
        ran = self.record(sys.executable, self.job, version, steps, options=options,
                          env={"RANK": rank, "WORLD_SIZE": 2, **env})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_operations_with_their_sequence_numbers_in_every_version(self):
        for version in (2, 3, 4, 5):
            with self.subTest(version):
                self.out = self.folder / str(version)
                for rank in (0, 1):
                    self.assertEqual(self.job_of(version, rank), "done\n")
                text = decoded(self.files()[0])
                for wanted in ("sequence: 1000", "sequence: 1011", "bytes: 4096", "bytes: 4100", "bytes: 128", "peer: 1", "root: -1",
                               f"communicator: {2**64 - 7}", 'text: "ncclAllReduce"', 'text: "ncclSend"', 'text: "NCCL"'):
                    self.assertIn(wanted, text)
                self.assertEqual(text.count("4294967295"), 0)  # -1 stays -1
                self.assertEqual(text.count("rank_count: 2"), 18 if version > 3 else 0)
                report = self.analyze(options=["--no-what-if"])
                rows = {(c["op"], c["bytes"]) for c in report["collectives"]}
                self.assertIn(("all_reduce", 4100), rows)  # the inner one of a group stands for its kernel
                self.assertNotIn("crossing_ranges", self.notes(report))
                self.assertEqual(report["across"]["inconsistent"], 0)
                self.assertGreaterEqual(report["across"]["instances"], 5)

    def test_steps_by_its_operations(self):
        # Sends are too small to count; 12 ms a step.
        self.assertEqual(self.job_of(5, 0, 330, ("--nccl", "--steps", "250:269"), JOB_PAUSE="0.012"), "done\n")
        text = decoded(self.files()[0])
        self.assertIn("a pattern of 2 NCCL operations", text)
        self.assertIn("recorded 250:269", text)
        self.assertIn(f"sequence: {1000 + 2 * 255}", text)
        self.assertNotIn(f"sequence: {1000 + 2 * 240}", text)

    def test_where_nothing_is_recorded_nccl_goes_on_without_it(self):
        self.assertEqual(self.job_of(5, 1, options=("--nccl", "--ranks", "0")), "not wanted\n")
        self.assertEqual(self.files(), [])

    def test_outside_a_window_nothing_is_kept(self):
        self.assertEqual(self.job_of(5, 0, options=("--nccl", "--delay", "60s")), "done\n")
        self.assertEqual(self.files(), [])

    def test_another_plug_in_is_not_replaced(self):
        ran = self.record("true", options=["--nccl"], env={"NCCL_PROFILER_PLUGIN": "inspector"})
        self.assertEqual(ran.returncode, 2)
        self.assertIn("NCCL_PROFILER_PLUGIN", ran.stderr)
