#!/usr/bin/env python3
"""The recorder in a process, end to end: workload -> record -> analyze.

recorder_test.py WALLSIGHT WORKLOAD SIMULATOR SOURCE_DIR
RECORDER_KILLS sets the number of kill tests (6).
"""
import json
import mmap
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

WALLSIGHT, WORKLOAD, SIMULATOR = (os.path.abspath(a) for a in sys.argv[1:4])
SOURCE = pathlib.Path(sys.argv[4]).resolve()
KILLS = int(os.environ.get("RECORDER_KILLS", "6"))
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


class Recorder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out"

    def record(self, *command, options=(), env=None, cupti=SIMULATOR, **more):
        return subprocess.run([WALLSIGHT, "record", "-o", self.out, "--cupti", cupti, *options, "--", *map(str, command)],
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


def answer(report):
    """What must not depend on who recorded. The clocks of several ranks are read to within a microsecond, so their waiting
    and transfer are compared as one."""
    rows = [{k: v for k, v in row.items() if k not in ("begin_ns", "end_ns")} for row in report["steps"]["rows"]]
    if report["run"]["ranks"] > 1:
        met = [{leaf if not leaf.startswith("comm.") else leaf.rsplit(".", 1)[0]: 0 for leaf in row["partition"]} for row in rows]
        for sums, row in zip(met, rows):
            for leaf, ns in row["partition"].items():
                sums[leaf if not leaf.startswith("comm.") else leaf.rsplit(".", 1)[0]] += ns
        return {"rows": met, "verdict": report["verdict"]["cause"], "wall": report["verdict"]["wall"], "kernels": report["kernels"],
                "idle": report["idle"], "findings": [f["rule"] for f in report["findings"]], "origin": report["steps"]["origin"]}
    return {"rows": rows, "partition": report["partition"], "losses": report["losses"], "verdict": report["verdict"],
            "collectives": report["collectives"], "idle": report["idle"], "kernels": report["kernels"],
            "findings": [f["rule"] for f in report["findings"]], "origin": report["steps"]["origin"]}


class SameAnswer(Recorder):
    maxDiff = 4000

    def test_every_sample_recorded_by_us_gives_the_answer_of_its_nsys_export(self):
        samples = sorted(p.name for p in SAMPLES.iterdir() if p.is_dir())
        self.assertGreater(len(samples), 8)
        for sample in samples:
            with self.subTest(sample):
                self.out = self.folder / sample
                recorded, exported = self.play(sample), self.analyze(SAMPLES / sample)
                self.assertEqual(answer(recorded), answer(exported))
                self.assertEqual({s["format"] for s in recorded["run"]["sources"]}, {"wallsight-recording"})
                self.assertEqual(recorded["run"]["gpu"], exported["run"]["gpu"])
                self.assertNotIn("records_lost", self.notes(recorded))

    def test_layouts_of_all_versions_and_of_one_to_come(self):
        exported = answer(self.analyze(SAMPLES / "launch_bound"))
        for version in (18, 19, 20, 22, 24, 26, 28, 130000, 130001, 140000):
            with self.subTest(version):
                self.out = self.folder / str(version)
                report = self.play("launch_bound", env={"WALLSIGHT_SIM_VERSION": version})
                self.assertEqual(answer(report), exported)
                self.assertIn(f"CUPTI {version}", report["run"]["sources"][0]["tool_version"])

    def test_buffers_that_come_only_when_forced(self):
        exported = answer(self.analyze(SAMPLES / "host_sync"))
        self.assertEqual(answer(self.play("host_sync", env={"WALLSIGHT_SIM_HOLD": 1})), exported)

    def test_without_a_clock_callback_times_are_moved_to_ours(self):
        ran = self.record(WORKLOAD, "loop", 200, env={"WALLSIGHT_SIM_NO_CLOCK": 1})
        self.assertEqual(ran.returncode, 3)
        report = self.analyze(options=["--step-window", "host"])
        self.assertEqual(self.steps(report), 200)
        busy = [row["partition"].get("gemm", 0) for row in report["steps"]["rows"]]
        self.assertEqual(sorted(busy)[100], 10 * 20_000)  # ten kernels of 20 us in each step

    def test_graphs_waits_overhead_and_records_without_times(self):
        def more(lines):
            return lines + ("K\t0\t0\t0\t1\t7\t999001\t0\t0\tlost\n" * 3 + "F\t2000000\t2000100\t64\t0\t1\t7\t999002\n"
                            "S\t2000000\t2000100\t3\t7\t4294967295\t999003\nO\t2000000\t2000100\t65536\t0\n")
        report = self.play("healthy", script=more)
        self.assertEqual(self.notes(report)["zero_timestamp"]["count"], 3)


class Job(Recorder):
    """The job is what it was: output, exit code, and no file where there is nothing to say."""

    def test_exit_paths(self):
        for way, code, complete in [("return", 3, True), ("exit", 3, True), ("thread", 3, True), ("fork", 3, True),
                                    ("_exit", 3, False), ("abort", -signal.SIGABRT, False), ("kill", -signal.SIGKILL, False),
                                    ("raise", -signal.SIGTERM, False)]:
            with self.subTest(way):
                self.out = self.folder / way
                ran = self.record(WORKLOAD, "loop", 100, way)
                self.assertEqual((ran.returncode, ran.stdout), (code, "100 steps\n"))
                self.assertEqual(ran.stderr, f"wallsight: recording into {self.out}\n")
                (path,) = self.files()
                sequence, tail = frames_of(path)
                self.assertGreater(len(sequence), 0)
                self.assertEqual(tail, 0)
                if complete:
                    report = self.analyze()
                    self.assertEqual(self.steps(report), 100)
                    self.assertNotIn("recording_unfinished", self.notes(report))

    def test_a_shell_a_script_and_git_run_untouched(self):
        for command in (["sh", "-c", "echo a; echo b >&2; exit 5"], [sys.executable, "-c", "print('x')"], ["ls", SOURCE]):
            plain = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
            ran = self.record(*command)
            self.assertEqual((ran.returncode, ran.stdout), (plain.returncode, plain.stdout))
            self.assertEqual(self.files(), [])

    def test_ranges_without_cuda_are_recorded(self):
        ran = self.record(WORKLOAD, "nvtx", 50)
        self.assertEqual((ran.returncode, ran.stdout), (0, "50 steps\n"))
        report = self.analyze()
        self.assertEqual(report["verdict"]["cause"], "no_gpu_events")
        self.assertIn("no_gpu_events", self.notes(report))

    def test_the_file_is_private_and_named_by_host_rank_process_and_start(self):
        self.record(WORKLOAD, "loop", 5, env={"RANK": 3, "WORLD_SIZE": 8})
        (path,) = self.files()
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        host, rank, pid, start, ending = path.name.split(".")
        self.assertEqual((rank, ending), ("3", "wst"))
        self.assertGreater(int(pid), 1)
        self.assertLess(abs(time.time() - int(start) / 1000), 300)
        report = self.analyze()
        self.assertEqual(report["ranks"][0]["rank"], 3)

    def test_no_secret_gets_into_the_file(self):
        ran = self.record(WORKLOAD, "loop", 5, "return", "--api-key", "hunter2", "--wandb_token=hunter2",
                          env={"NCCL_AUTH_SECRET": "hunter2", "AWS_SECRET": "hunter2", "NCCL_ALGO": "Ring",
                               "WALLSIGHT_TEST_PLAIN": 1})
        self.assertEqual(ran.returncode, 3)
        (path,) = self.files()
        plain = b"".join(bodies(path))
        self.assertIn(b"NCCL_ALGO", plain)
        self.assertIn(b"--wandb_token=...", plain)
        self.assertNotIn(b"hunter2", plain)


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


class RealLibraries(Recorder):
    def test_the_nvtx_of_nccl_in_a_python_process(self):
        library = next((p for p in map(pathlib.Path, ("/usr/local/cuda/lib64/libnccl.so.2", "/usr/lib/x86_64-linux-gnu/libnccl.so.2"))
                        if p.exists()), None)
        if library is None or sanitized():
            self.skipTest("needs libnccl, and a library that Python can load")
        # Without a communicator the calls fail, but their ranges and payloads are the real ones.
        program = (f"import ctypes; c = ctypes.CDLL('{library}')\n"
                   "for i in range(3):\n"
                   "    c.ncclAllReduce(None, None, ctypes.c_size_t(1024), 7, 0, None, None)\n"
                   "    c.ncclAllGather(None, None, ctypes.c_size_t(512), 7, None, None)\n"
                   "print('done')")
        ran = self.record(sys.executable, "-c", program)
        self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)
        (path,) = self.files()
        text = decoded(path)
        for name in ("NCCL", "ncclAllReduce", "ncclAllGather"):
            self.assertIn(f'text: "{name}"', text)
        self.assertEqual((text.count("bytes: 4096"), text.count("bytes: 2048")), (3, 3))  # float32


class Trouble(Recorder):
    def test_cupti_in_use_by_another_tool(self):
        ran = self.record(WORKLOAD, "loop", 20, env={"WALLSIGHT_SIM_BUSY": 1})
        self.assertEqual((ran.returncode, ran.stdout), (3, "20 steps\n"))
        self.assertIn("no GPU records: another tool in this process is using CUPTI", ran.stderr)
        report = self.analyze()
        self.assertIn("another tool", json.dumps(self.notes(report)["recorder_message"]))

    def test_cupti_that_refuses(self):
        ran = self.record(WORKLOAD, "loop", 20, env={"WALLSIGHT_SIM_REFUSE": 1})
        self.assertEqual((ran.returncode, ran.stdout), (3, "20 steps\n"))
        self.assertIn("no GPU records: activity records: ", ran.stderr)
        self.assertEqual(ran.stderr.count("\n"), 2)

    def test_a_real_libcupti_without_a_driver(self):
        real = pathlib.Path("/usr/local/cuda/lib64/libcupti.so.13")
        if not real.exists() or pathlib.Path("/dev/nvidia0").exists():
            self.skipTest("needs the toolkit, and no driver")
        script = self.folder / "empty.txt"
        script.write_text("R\t1000\t2000\t1\titeration\t\t0\t-1\n")
        # The workload loads the simulator under another name: the recorder must not find it loaded.
        hidden = self.folder / "simulator.so"
        shutil.copy(SIMULATOR, hidden)
        ran = self.record(WORKLOAD, "play", script, cupti=real, env={"WORKLOAD_SIMULATOR": hidden})
        self.assertEqual((ran.returncode, ran.stdout), (0, "played 0 records\n"), ran.stderr)
        self.assertIn("no GPU records: cuptiSubscribe: CUPTI_ERROR_UNKNOWN", ran.stderr)
        self.assertEqual(ran.stderr.count("\n"), 2)
        report = self.analyze()
        self.assertIn("cuptiSubscribe", json.dumps(self.notes(report)["recorder_message"]))
        self.assertRegex(report["run"]["sources"][0]["tool_version"], r"CUPTI 1300\d\d")

    def test_a_folder_that_goes_away(self):
        ran = self.record("sh", "-c", f"rmdir {self.out}; exec {WORKLOAD} loop 20")
        self.assertEqual((ran.returncode, ran.stdout), (3, "20 steps\n"))
        self.assertIn("wallsight: nothing is recorded: ", ran.stderr)

    def test_the_cap_of_a_file(self):
        ran = self.record(WORKLOAD, "loop", 300, options=["--max-file-mb", "1"])
        self.assertEqual(ran.returncode, 3)
        self.assertLessEqual(self.files()[0].stat().st_size, 1 << 20)

    def test_buffers_that_run_out_end_the_window_and_are_counted(self):
        lines = ["R\t1000\t2000\t1\titeration\t\t0\t-1"]
        for i in range(120_000):
            lines.append(f"K\t{5000 + 10 * i}\t{5005 + 10 * i}\t0\t1\t7\t{i + 1}\t0\t0\tgemm")
        script = self.folder / "flood.txt"
        script.write_text("\n".join(lines) + "\n")
        for version in (26, 130000):  # the older one must never be refused a buffer
            with self.subTest(version):
                self.out = self.folder / str(version)
                ran = self.record(WORKLOAD, "play", script, options=["--max-memory-mb", "12"],
                                  env={"WALLSIGHT_SIM_VERSION": version, "WALLSIGHT_SIM_HOLD": 1})
                self.assertEqual((ran.returncode, ran.stdout), (0, "played 120000 records\n"), ran.stderr)
                report = self.analyze(options=["--step-window", "whole"])
                kept = sum(k["count"] for k in report["kernels"])
                self.assertGreater(kept, 0)
                if kept < 120_000:
                    self.assertIn("records_lost", self.notes(report))


class Kill(Recorder):
    def test_sigkill_at_random_moments(self):
        """No whole frame is lost; what was done more than the flush interval ago is in the file."""
        random.seed(7)
        for kill in range(KILLS):
            with self.subTest(kill):
                self.out = self.folder / str(kill)
                progress = self.folder / "progress"
                progress.write_bytes(bytes(8))
                job = subprocess.Popen([WALLSIGHT, "record", "-o", self.out, "--cupti", SIMULATOR, "--", WORKLOAD, "loop", "0"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=clean_environment(WORKLOAD_PROGRESS=progress))
                history = []
                end = time.monotonic() + 1.2 + random.random() * 1.5
                while time.monotonic() < end:
                    history.append((time.monotonic(), struct.unpack("<Q", progress.read_bytes())[0]))
                    time.sleep(0.01)
                job.kill()
                job.wait()
                self.assertEqual(job.returncode, -signal.SIGKILL)
                (path,) = self.files()
                sequence, tail = frames_of(path)
                self.assertEqual(sequence, list(range(len(sequence))))
                self.assertGreater(len(sequence), 0)
                report = self.analyze(options=["--step-window", "host"])
                notes = self.notes(report)
                self.assertIn("recording_unfinished", notes)
                self.assertNotIn("records_lost", notes)
                # One second of flush interval, and room for a machine under load.
                long_ago = max([n for t, n in history if t < end - 2.0], default=0)
                self.assertGreaterEqual(self.steps(report), long_ago - 1)
                self.assertEqual(tail, 0)


class Windows(Recorder):
    def test_duration(self):
        ran = self.record(WORKLOAD, "loop", 600, options=["--duration", "200ms"])
        self.assertEqual(ran.returncode, 3)
        steps = self.steps(self.analyze())
        self.assertGreater(steps, 5)
        self.assertLess(steps, 500)

    def test_delay(self):
        self.record(WORKLOAD, "loop", 600, options=["--delay", "200ms"])
        steps = self.steps(self.analyze())
        self.assertGreater(steps, 5)
        self.assertLess(steps, 560)

    def test_a_job_that_ends_before_the_delay_leaves_no_file(self):
        ran = self.record(WORKLOAD, "loop", 5, options=["--delay", "60s"])
        self.assertEqual((ran.returncode, ran.stdout), (3, "5 steps\n"))
        self.assertEqual(self.files(), [])

    def test_ranks(self):
        for rank in range(4):
            self.record(WORKLOAD, "loop", 5, options=["--ranks", "0,2-3"], env={"RANK": rank})
        self.assertEqual([f.name.split(".")[1] for f in self.files()], ["0", "2", "3"])

    def test_steps_leave_the_warm_up_out(self):
        ran = self.record(WORKLOAD, "loop", 800, options=["--steps", "200:599"])
        self.assertEqual(ran.returncode, 3)
        report = self.analyze()
        # Arming takes a moment, longer on a busy machine, and so does ending: never before the first.
        self.assertGreaterEqual(self.steps(report), 20)
        self.assertLess(self.steps(report), 600)

    def test_numbered_step_ranges(self):
        report = self.play("launch_bound", options=["--steps", "1:1000", "--step-range", "iteration"])
        self.assertLessEqual(self.steps(report), 6)


def symbols_of_the_library():
    library = pathlib.Path(WALLSIGHT).parent.parent / "lib/libwallsight_inject.so"
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    return library, [line.split()[-2:] for line in symbols.splitlines()]


def sanitized():
    return any("__asan" in name or "__tsan" in name for _, name in symbols_of_the_library()[1])


class Library(unittest.TestCase):
    """What the library shows to the process it is loaded into."""

    def setUp(self):
        self.library, self.symbols = symbols_of_the_library()
        if sanitized():
            self.skipTest("a sanitized build")

    def test_it_exports_its_entry_points_and_nothing_else(self):
        self.assertEqual(sorted(name for kind, name in self.symbols if kind not in "wvU"),
                         ["InitializeInjection", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension",
                          "wallsight_probe_cupti"])

    def test_it_needs_only_the_c_library(self):
        needed = subprocess.run(["readelf", "-d", self.library], capture_output=True, text=True, check=True).stdout
        for line in needed.splitlines():
            if "(NEEDED)" in line:
                self.assertRegex(line, r"\[(libc\.so|libgcc_s\.so|libdl\.so|libpthread\.so|ld-linux)", line)

    def test_it_loads_where_training_containers_run(self):
        ran = subprocess.run([SOURCE / "scripts/check_glibc.sh", self.library, WALLSIGHT], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)


class Usage(Recorder):
    def refused(self, code, arguments, *words, env=None):
        ran = subprocess.run([WALLSIGHT, "record", *map(str, arguments)], capture_output=True, text=True, timeout=60,
                             env=clean_environment(**(env or {})))
        self.assertEqual((ran.returncode, ran.stdout), (code, ""), ran.stderr)
        last = ran.stderr.splitlines()[-1]
        self.assertTrue(last.startswith("wallsight: "), last)
        for word in words:
            self.assertIn(word, last)

    def test_bad_usage(self):
        self.refused(3, [], "command")
        self.refused(3, ["-o", self.out, "--"], "command")
        self.refused(3, ["--tier", "all", "--", "true"], "all")
        self.refused(3, ["--delay", "soon", "--", "true"], "--delay", "soon")
        self.refused(3, ["--duration", "-5s", "--", "true"], "--duration")
        self.refused(3, ["--ranks", "a", "--", "true"], "--ranks")
        self.refused(3, ["--steps", "9:3", "--", "true"], "--steps")
        self.refused(3, ["--steps", "3:9", "--delay", "1s", "--", "true"], "--steps")
        self.assertFalse(self.out.exists())

    def test_bad_environment(self):
        self.refused(2, ["-o", self.out, "--", "true"], "CUDA_INJECTION64_PATH", "another tool",
                     env={"CUDA_INJECTION64_PATH": "/opt/other.so"})
        self.refused(2, ["-o", self.out, "--", "true"], "NVTX_INJECTION64_PATH", env={"NVTX_INJECTION64_PATH": "/opt/other.so"})
        taken = self.folder / "file"
        taken.write_text("")
        self.refused(2, ["-o", taken, "--", "true"], "file")
        self.refused(2, ["-o", self.folder / "no" / "such", "--", "true"], "such")
        self.refused(2, ["-o", self.out, "--", "/no/such/program"], "/no/such/program")

    def test_doctor(self):
        ran = subprocess.run([WALLSIGHT, "doctor", "-o", self.folder], capture_output=True, text=True, timeout=60,
                             env=clean_environment(WALLSIGHT_CUPTI=SIMULATOR))
        self.assertIn(ran.returncode, (0, 2))
        self.assertEqual(ran.stderr, "")
        lines = {}
        for line in ran.stdout.splitlines():
            state, what, text = line.split(maxsplit=2)
            self.assertIn(state, ("ok", "note", "BAD"))
            lines.setdefault(what, []).append((state, text))
        self.assertEqual(set(lines), {"variables", "driver", "recorder", "cupti", "folder"})
        self.assertEqual(lines["recorder"][0][0], "ok")
        self.assertTrue(any(state == "ok" and "kernel 216" in text for state, text in lines["cupti"]), lines)
        self.assertEqual(ran.returncode, 2 if "BAD" in ran.stdout else 0)
        ran = subprocess.run([WALLSIGHT, "doctor"], capture_output=True, text=True, timeout=60, cwd=self.folder,
                             env=clean_environment(CUDA_INJECTION64_PATH="/opt/other.so"))
        self.assertEqual(ran.returncode, 2)
        self.assertIn("BAD   variables", ran.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
