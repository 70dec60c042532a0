#!/usr/bin/env python3
"""--what-if: what is asked for is answered.

what_if_cli_check.py WALLSIGHT SOURCE_DIR
"""
import json
import re
import sys
import unittest

from cli_check import SAMPLE, SOURCE, Cli, run

LOADER = SOURCE / "samples/nsys/dataloader"


class WhatIf(Cli):
    def test_combinations_and_none(self):
        rows = lambda *more: json.loads(run("analyze", LOADER, "--report", "json", *more).stdout)
        plain, off = rows(), rows("--no-what-if")
        combined = rows("--what-if", "gemm_x2+dataload_zero")
        saved = lambda report: {w["id"]: w["saved_lo_share"] for w in report["what_if"]}
        self.assertNotIn("gemm_x2+dataload_zero", saved(plain))
        both = saved(combined)["gemm_x2+dataload_zero"]
        self.assertGreater(both, max(saved(plain)["gemm_x2"], saved(plain)["dataload_zero"]))
        self.assertEqual(off["what_if"], [])
        self.assertIn("--no-what-if", [n["text"] for n in off["notes"] if n["code"] == "what_if_not_available"][0])

    def shown(self, text):
        table = text[text.index("\nWHAT IF "):].split("\n\n")[0]
        return re.findall(r"(?m)^  (\S.*?)  +-?[0-9.]+ ", table), table

    def test_a_row_that_was_asked_for_is_shown(self):
        report = json.loads(run("analyze", LOADER, "--report", "json").stdout)
        shown, table = self.shown(run("analyze", LOADER).stdout)
        self.assertNotIn("_", "".join(shown))  # changes are called by words, in the order of the JSON report
        small = [w["id"] for w in report["what_if"]][len(shown):]
        self.assertGreater(len(small), 2)
        self.assertRegex(table, rf"and {len(small)} more.* \(--all\)")
        for form, name in (("text", small[-1]), ("md", small[-1].replace("_", "\\_"))):
            self.assertIn(name, run("analyze", LOADER, "--report", form, "--what-if", small[-1]).stdout)
        self.assertIn(small[-1], self.shown(run("analyze", LOADER, "--what-if", small[-1]).stdout)[0])
        facts = self.folder / "run.wsdb"
        asked = run("analyze", LOADER, "--what-if", small[-1], "-o", facts).stdout
        self.assertEqual(run("report", facts).stdout, asked)
        self.assertEqual(len(self.shown(run("analyze", LOADER, "--all").stdout)[0]), len(report["what_if"]))

    def test_a_row_that_can_not_be_had_says_why(self):
        no_ranks = " ".join(run("analyze", LOADER, "--what-if", "pp_zero").stdout.split())
        self.assertIn("pp_zero, asked for with --what-if, finds nothing to change here", no_ranks)
        one_step = " ".join(run("analyze", LOADER, "--step", "5", "--what-if", "host_zero").stdout.split())
        self.assertIn("among them host_zero, asked for with --what-if", one_step)

    def test_the_changes_are_listed(self):
        for verb in ("analyze", "merge"):
            text = run(verb, "--help").stdout
            listed = re.findall(r"(?m)^  ([a-z_0-9]+) +\S", text[text.index("Changes for --what-if"):])
            refused = run(verb, SAMPLE, "--what-if", "nothing").stderr
            self.assertEqual(listed, refused.split("the ids are ")[1].split())

    def test_ceilings_are_spoken_of_where_there_are_gains(self):
        text = run("analyze", LOADER, "--no-what-if").stdout
        self.assertIn("gains are ceilings", text)
        self.assertIn("gain at most", text)
        text = run("analyze", LOADER, "--step-window", "whole").stdout
        self.assertNotIn("ceilings", text)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
