"""record --preload: in every process of the job, and in no one's way."""
import pathlib
import subprocess
import sys

from harness import SOURCE, WALLSIGHT, WORKLOAD, Recorder, clean_environment, sanitized

LIBRARY = pathlib.Path(WALLSIGHT).parent.parent / "lib/libwallsight_preload.so"


class Preload(Recorder):
    def setUp(self):
        super().setUp()
        if sanitized():
            self.skipTest("a sanitized build wants to be first")

    def test_programs_run_untouched(self):
        for command in (["sh", "-c", "echo a; echo b >&2; (exit 3); exit 5"], [sys.executable, "-c", "import os; print('x', flush=True); os._exit(7)"],
                        ["ls", SOURCE], ["git", "--version"], ["true"], ["false"], ["sh", "-c", "no_such_program_here; echo $?"]):
            plain = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
            ran = self.record(*command, options=["--preload"])
            self.assertEqual((ran.returncode, ran.stdout), (plain.returncode, plain.stdout))
            said = [line for line in ran.stderr.splitlines() if "expected a recording when the command ended" not in line]
            self.assertEqual(said, [f"wallsight: recording into {self.out}"] + plain.stderr.splitlines())
            self.assertEqual(self.files(), [])

    def test_a_launcher_that_takes_the_variables_away(self):
        scrubbed = ("env", "-u", "CUDA_INJECTION64_PATH", "-u", "NVTX_INJECTION64_PATH", WORKLOAD, "loop", 20)
        self.assertEqual(self.record(*scrubbed).returncode, 3)
        self.assertEqual(self.files(), [])
        ran = self.record(*scrubbed, options=["--preload"])
        self.assertEqual((ran.returncode, ran.stdout), (3, "20 steps\n"))
        self.assertEqual(self.steps(self.analyze()), 20)

    def test_it_stands_in_front_of_what_was_preloaded(self):
        ran = self.record("sh", "-c", "echo $LD_PRELOAD", options=["--preload"], env={"LD_PRELOAD": "libdl.so.2"})
        self.assertEqual(ran.stdout, f"{LIBRARY}:libdl.so.2\n")

    def test_the_library_needs_only_the_c_library_and_shows_three_functions(self):
        needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertEqual([line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line], ["libc.so.6"])
        symbols = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertEqual(sorted(line.split()[-1] for line in symbols.splitlines()), ["_Exit", "_exit", "wallsight_on_exit"])
        ran = subprocess.run([SOURCE / "scripts/check_glibc.sh", LIBRARY], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
