"""What the tests of the recorder share: jobs that are recorded, files that are looked into, reports.

The program that runs the tests has the arguments WALLSIGHT WORKLOAD SIMULATOR SOURCE_DIR.
"""
import json
import os
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

WALLSIGHT, WORKLOAD, SIMULATOR = (os.path.abspath(a) for a in sys.argv[1:4])
SOURCE = pathlib.Path(sys.argv[4]).resolve()
SAMPLES = SOURCE / "samples/nsys"


def clean_environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("WALLSIGHT", "CUDA_INJ", "NVTX_INJ")) and k != "RANK"}
    env["ASAN_OPTIONS"] = "detect_leaks=0"  # of a sanitized build: its words would be the job's output
    env.update({k: str(v) for k, v in more.items()})
    return env


def script_of(sqlite):
    """A recorded sample as lines for the workload, and its RANK and WORLD_SIZE."""
    db = sqlite3.connect(f"file:{sqlite}?mode=ro", uri=True)
    lines, env = [], {}
    text = dict(db.execute("SELECT id, value FROM StringIds"))
    domains = {d: t for d, t in db.execute("SELECT domainId, text FROM NVTX_EVENTS WHERE eventType = 75")}
    nvtx = db.execute("SELECT start, end, globalTid & 16777215, coalesce(text, ''), textId, domainId, jsonText, jsonTextId "
                      "FROM NVTX_EVENTS WHERE eventType = 59 ORDER BY start, end DESC")
    for start, end, tid, name, name_id, domain, payload, payload_id in nvtx:
        said = json.loads(payload or text.get(payload_id) or "{}")
        lines.append(["R", start, end, tid, name or text[name_id], domains.get(domain, ""), said.get("NCCL communicator ID", 0),
                      said.get("Message size [bytes]", -1)])
    for row in db.execute("SELECT start, end, deviceId, contextId, streamId, correlationId, 0, coalesce(graphNodeId, 0), "
                          "demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start"):
        lines.append(["K", *row[:-1], text[row[-1]]])
    for start, end, size, kind, source, target, *rest in db.execute(
            "SELECT start, end, bytes, copyKind, srcKind, dstKind, deviceId, contextId, streamId, correlationId "
            "FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY start"):
        lines.append(["C", start, end, size, kind, source + 1, target + 1, *rest])  # nsys counts kinds of memory from 0
    calls = {"cudaLaunchKernel": "cudaLaunchKernel_v7000"}
    for start, end, tid, correlation, name in db.execute(
            "SELECT start, end, globalTid & 16777215, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start"):
        name = text[name]
        lines.append(["A", start, end, tid, correlation, calls.get(name.split("_")[0], name)])
    for (value,) in db.execute("SELECT value FROM META_DATA_CAPTURE WHERE name LIKE '%ENVIRONMENT_VARIABLE'"):
        variable, _, setting = value.partition("=")
        env[variable] = setting
    return "".join("\t".join(map(str, line)) + "\n" for line in lines), env


def frames_of(path):
    """Sequence numbers of the whole frames, and the bytes behind them."""
    data, at, out = path.read_bytes(), 0, []
    while len(data) - at >= 32:
        magic, version, flags, zero, stored, plain, sequence, crc, header_crc = struct.unpack_from("<4sBBHIIQII", data, at)
        if magic != b"WSF\xa7" or at + 32 + stored > len(data):
            break
        out.append(sequence)
        at += 32 + stored
    return out, len(data) - at


def bodies(path):
    """Bodies of the frames; inflated by the zstd program where there is one."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        flags, stored = data[at + 5], struct.unpack_from("<I", data, at + 8)[0]
        body = data[at + 32:at + 32 + stored]
        if flags == 1:
            body = subprocess.run(["zstd", "-dc"], input=body, capture_output=True, check=True).stdout
        yield body
        at += 32 + stored


def decoded(path):
    """The frames as protoc prints them."""
    schema = ["protoc", "--decode=wallsight.recording.Chunk", f"-I{SOURCE}/schemas", "recording.proto"]
    return "".join(subprocess.run(schema, input=body, capture_output=True, check=True).stdout.decode() for body in bodies(path))


def symbols_of_the_library():
    library = pathlib.Path(WALLSIGHT).parent.parent / "lib/libwallsight_inject.so"
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    return library, [line.split()[-2:] for line in symbols.splitlines()]


def sanitized():
    return any("__asan" in name or "__tsan" in name for _, name in symbols_of_the_library()[1])


class Recorder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out"

    def record(self, *command, options=(), env=None, cupti=SIMULATOR, **more):
        return subprocess.run([WALLSIGHT, "record", "-o", self.out, "--cupti", cupti, *map(str, options), "--", *map(str, command)],
                              capture_output=True, text=True, timeout=120, env=clean_environment(**(env or {})), **more)

    def files(self):
        return sorted(self.out.glob("*.wst"))

    def analyze(self, *inputs, options=()):
        ran = subprocess.run([WALLSIGHT, "analyze", *map(str, inputs or [self.out]), "--report", "json", *options],
                             capture_output=True, text=True, timeout=120, env=clean_environment())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)

    def steps(self, report):
        return report["steps"]["count"]

    def notes(self, report):
        return {n["code"]: n for n in report["notes"]}

    def play(self, sample, options=(), env=None, script=None):
        """Records the ranks of a sample; returns the report."""
        for sqlite in sorted((SAMPLES / sample).glob("*.sqlite")):
            lines, rank = script_of(sqlite)
            path = self.folder / "script.txt"
            path.write_text(script(lines) if script else lines)
            ran = self.record(WORKLOAD, "play", path, options=options, env={**rank, **(env or {})})
            self.assertEqual(ran.returncode, 0, ran.stderr)
        return self.analyze()
