"""What the library shows to its process, and what the verbs refuse."""
import pathlib
import re
import subprocess
import unittest

from harness import SIMULATOR, SOURCE, WALLSIGHT, Recorder, clean_environment, sanitized, symbols_of_the_library


class Library(unittest.TestCase):
    """What the library shows to the process it is loaded into."""

    def setUp(self):
        self.library, self.symbols = symbols_of_the_library()
        if sanitized():
            self.skipTest("a sanitized build")

    def test_it_exports_its_entry_points_and_nothing_else(self):
        self.assertEqual(sorted(name for kind, name in self.symbols if kind not in "wvU"),
                         ["InitializeInjection", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension",
                          "ncclProfiler_v2", "ncclProfiler_v3", "ncclProfiler_v4", "ncclProfiler_v5",
                          "wallsight_probe_cupti", "wallsight_range"])

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
        self.assertEqual(ran.stderr.count("\n"), 1 if ran.returncode == 2 else 0)
        lines = {}
        for line in re.sub(r"\n +", " ", ran.stdout).splitlines():
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
