#!/usr/bin/env python3
"""Nothing on a terminal is wider than 100 columns: reports of all samples (and of the made inputs beside the project), the
catalogue, explanations, help.

width_check.py WALLSIGHT SOURCE_DIR
"""
import concurrent.futures
import sys
import unittest

from cli_check import HOSTILE, SAMPLE, SOURCE, Cli, run

COLUMNS = 100
CASES = SOURCE.parent / "shared/cases"
WAYS = ([], ["--all"], ["--step-window", "whole"])


def inputs():
    out = [p for kind in ("kineto", "nsys", "recording") for p in sorted((SOURCE / "samples" / kind).iterdir()) if p.is_dir()]
    out.append(HOSTILE)
    if CASES.is_dir():
        out += [p for p in sorted(CASES.iterdir()) if p.name not in ("MANIFEST.json", "README.md")]
    return out


def too_wide(command):
    ran = run(*command)
    return [(command, line) for line in (ran.stdout if ran.returncode == 0 else "").splitlines() if len(line) > COLUMNS]


class Width(Cli):
    def test_reports(self):
        commands = [["analyze", p, *way] for p in inputs() for way in WAYS]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for found in pool.map(too_wide, commands):
                self.assertEqual(found, [])

    def test_the_rest(self):
        db = self.folder / "run.wsdb"
        self.assertEqual(run("analyze", SAMPLE, "-o", db).returncode, 0)
        rules = [line.split()[0] for line in run("rules", "list").stdout.splitlines()[1:] if not line.startswith(" ")]
        self.assertGreater(len(rules), 10)
        verbs = ("analyze", "merge", "report", "plan", "explain", "rules", "record", "doctor")
        commands = [["rules", "list"], ["explain", db], ["explain", db, "--all"], ["--help"]]
        commands += [["rules", "show", r] for r in rules] + [[v, "--help"] for v in verbs]
        commands += [["plan", p] for p in sorted((SOURCE / "samples/config").iterdir())]
        for command in commands:
            self.assertEqual(too_wide(command), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
