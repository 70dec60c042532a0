"""The job is what it was, whatever way it ends, and what it did is in its file."""
import os
import pathlib
import random
import signal
import stat
import struct
import subprocess
import sys
import time

from harness import (SIMULATOR, SOURCE, WALLSIGHT, WORKLOAD, Recorder, bodies, clean_environment, decoded, frames_of,
                     sanitized)

KILLS = int(os.environ.get("RECORDER_KILLS", "6"))


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

    def test_the_recorded_command_is_the_run_configuration(self):
        megatron = ["--tensor-model-parallel-size", 1, "--pipeline-model-parallel-size", 1, "--num-layers", 32,
                    "--micro-batch-size", 1, "--seq-length", 4096, "--manual-gc"]
        self.record(WORKLOAD, "loop", 20, "return", *megatron)
        self.assertIn("6 settings", self.notes(self.analyze())["config_recorded"]["text"])
        text = subprocess.run([WALLSIGHT, "analyze", self.out], capture_output=True, text=True, env=clean_environment()).stdout
        self.assertNotIn(str(WORKLOAD), text)
        given = self.folder / "run.json"
        given.write_text('{"tp": 1}')
        self.assertNotIn("config_recorded", self.notes(self.analyze(options=["--config", given])))
        # Kept in a partial as well.
        partial = self.folder / "a.wspart"
        for arguments in (["analyze", self.out, "--partial", "-o", partial], ["merge", partial, "--report", "json"]):
            ran = subprocess.run([WALLSIGHT, *map(str, arguments)], capture_output=True, text=True, env=clean_environment())
            self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn('"config_recorded"', ran.stdout)

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


class RealLibraries(Recorder):
    def nccl(self):
        library = next((p for p in map(pathlib.Path, ("/usr/local/cuda/lib64/libnccl.so.2", "/usr/lib/x86_64-linux-gnu/libnccl.so.2"))
                        if p.exists()), None)
        if library is None or sanitized():
            self.skipTest("needs libnccl, and a library that Python can load")
        return library

    def test_steps_by_what_the_real_nccl_is_asked_for(self):
        program = (f"import ctypes, time; c = ctypes.CDLL('{self.nccl()}')\n"
                   "for n in range(280):\n"
                   "    for count in (5000, 5000, 7000, 2 + n % 7):\n"  # the last is too small to count
                   "        c.ncclAllReduce(None, None, ctypes.c_size_t(count), 7, 0, None, None)\n"
                   "        time.sleep(0.004)\n")
        ran = self.record(sys.executable, "-c", program, options=["--steps", "200:219"])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        text = decoded(self.files()[0])
        self.assertIn("a pattern of 3 NCCL operations", text)
        self.assertIn("recorded 200:219", text)
        self.assertIn(text.count("bytes: 28000"), range(20, 30))

    def test_the_nvtx_of_nccl_in_a_python_process(self):
        library = self.nccl()
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
