#!/usr/bin/env python3
"""record and doctor where nothing can be recorded.

record_cli_check.py WALLSIGHT SOURCE_DIR
"""
import os
import sys
import time
import unittest

from cli_check import Cli, run


class Record(Cli):
    def record(self, *args):
        return run("record", "-o", self.folder / "out", *args)

    def test_steps_or_time(self):
        for option in ("--delay", "--duration"):
            self.refused(3, self.record("--steps", "3:5", option, "10s", "--", "true"), option, "leave one out")
        self.assertFalse((self.folder / "out").exists())

    def test_the_default_folder_is_in_the_help(self):
        self.assertIn("wallsight-recording", run("record", "--help").stdout)

    def test_the_usage_has_the_command(self):
        self.assertIn("Usage: wallsight record [OPTIONS] -- COMMAND [ARGUMENT...]\n", run("record", "--help").stdout)

    def test_a_command_that_records_nothing_is_told(self):
        ran = self.record("--", "sh", "-c", "echo done; exit 7")
        self.assertEqual((ran.returncode, ran.stdout), (7, "done\n"))
        said = ran.stderr.splitlines()
        self.assertEqual(len(said), 2, said)
        self.assertTrue(said[1].startswith("wallsight: ") and "wallsight doctor" in said[1], said)
        kept = self.folder / "out/a.0.1.2.wst"
        ran = self.record("--", "touch", kept)
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
        ran = self.record("--", "touch", kept)  # it was there before
        self.assertEqual(len(ran.stderr.splitlines()), 2, ran.stderr)
        ran = self.record("--ranks", "3", "--", "true")
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)

    def test_a_command_that_can_not_be_run_is_told_once(self):
        ran = self.record("--", self.folder / "none")
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(len(ran.stderr.splitlines()), 2, ran.stderr)
        self.assertIn("none: can not be run", ran.stderr)

    def test_the_command_has_no_child_it_did_not_make(self):
        begin = time.monotonic()
        ran = self.record("--", sys.executable, "-c", "import os\ntry:\n  os.wait()\nexcept ChildProcessError:\n  print('none')")
        self.assertEqual(ran.stdout, "none\n")
        self.assertLess(time.monotonic() - begin, 60)

    def test_doctor_says_why_it_fails(self):
        ran = run("doctor", env={"CUDA_INJECTION64_PATH": "/opt/other.so"})
        self.assertEqual(ran.returncode, 2)
        self.assertIn("BAD", ran.stdout)
        for line in ran.stdout.splitlines():
            self.assertLessEqual(len(line), 100, line)
        self.assertEqual(ran.stderr.count("\n"), 1)
        self.assertTrue(ran.stderr.startswith("wallsight: doctor: ") and "variables" in ran.stderr, ran.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
