#!/usr/bin/env python3
"""Nothing on a terminal is wider than 100 columns: reports of all samples (and of the made inputs beside the project), the
catalogue, explanations, help.

width_check.py WALLSIGHT SOURCE_DIR
"""
import concurrent.futures
import gzip
import json
import pathlib
import sys
import unicodedata
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "checks"))
from program import share
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


def columns(line):
    """East Asian wide characters and emoji take two; unassigned ones are called wide by Python, and take one."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" and unicodedata.category(c) != "Cn" else 1 for c in line if not unicodedata.combining(c))


def too_wide(command):
    ran = run(*command)
    return [(command, line) for line in (ran.stdout if ran.returncode == 0 else "").splitlines() if columns(line) > COLUMNS]


class Width(Cli):
    def test_reports(self):
        commands = [["analyze", p, *way] for p in share(inputs()) for way in WAYS]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for found in pool.map(too_wide, commands):
                self.assertEqual(found, [])

    def test_wide_names(self):
        """A trace whose every name is of wide characters, of emoji, or of both with marks."""
        trace = json.loads(gzip.decompress((SOURCE / "samples/kineto/host_sync/trace.json.gz").read_bytes()))
        for word in ("\u6838\u5fc3", "\U0001f600", "\uac00a\u0301\U0001f680_"):
            renamed = json.loads(json.dumps(trace))
            for event in renamed["traceEvents"]:
                name = event.get("name", "")
                if event.get("cat") in ("kernel", "cpu_op", "user_annotation", "python_function") and not name.startswith("ProfilerStep"):
                    event["name"] = name + " " + word * 70
            path = self.folder / "wide.json"
            path.write_text(json.dumps(renamed))
            report = run("analyze", path, "--all").stdout
            self.assertIn(word[0], report)
            for way in WAYS:
                self.assertEqual(too_wide(["analyze", path, *way]), [])

    def test_the_rest(self):
        db = self.folder / "run.wsdb"
        self.assertEqual(run("analyze", SAMPLE, "-o", db).returncode, 0)
        rules = [line.split()[0] for line in run("rules", "list").stdout.splitlines()[1:] if not line.startswith(" ")]
        self.assertGreater(len(rules), 10)
        verbs = ("analyze", "merge", "report", "plan", "explain", "rules", "record", "doctor")
        commands = [["rules", "list"], ["explain", db], ["explain", db, "--all"], ["--help"]]
        commands += [["rules", "show", r] for r in share(rules)] + [[v, "--help"] for v in verbs]
        commands += [["plan", p] for p in sorted((SOURCE / "samples/config").iterdir())]
        for command in commands:
            self.assertEqual(too_wide(command), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
