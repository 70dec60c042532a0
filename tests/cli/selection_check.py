#!/usr/bin/env python3
"""A part of a recording: steps, ranks, times, and how steps are cut.

selection_check.py WALLSIGHT SOURCE_DIR
"""
import json
import re
import sys
import unittest

from cli_check import SAMPLE, SOURCE, Cli, run


class Selection(Cli):
    def report(self, *args):
        ran = run("analyze", *args, "--report", "json")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return json.loads(ran.stdout)

    def test_steps(self):
        every = self.report(SAMPLE)["steps"]["rows"]
        some = self.report(SAMPLE, "--step", f"{every[1]['index']}:{every[2]['index']}")
        self.assertEqual([r["index"] for r in some["steps"]["rows"]], [r["index"] for r in every[1:3]])
        self.assertIn("step", some["run"]["selection"])

    def test_steps_that_are_not_there(self):
        every = [row["index"] for row in self.report(SAMPLE)["steps"]["rows"]]
        there = f"its steps are {min(every)} to {max(every)}"
        self.refused(2, run("analyze", SAMPLE, "--step", "99"), "--step", "99", there)
        self.refused(2, run("analyze", SAMPLE, "--step-window", "whole", "--step", "99"), "--step", "99")
        self.refused(2, run("analyze", SOURCE / "tests/cases/k56_no_profilerstep.json", "--step", "1"), "no steps were found")

    def test_ranks(self):
        folder = SOURCE / "samples/nsys/exposed_all_to_all"
        some = self.report(folder, "--rank", "1,3")
        self.assertEqual([r["rank"] for r in some["ranks"]], [1, 3])
        self.refused(2, run("analyze", folder, "--rank", "77"), "--rank")
        self.assertNotIn("rank_not_found", [n["code"] for n in some["notes"]])
        part = self.report(folder, "--rank", "0,42,77-78")
        self.assertEqual([r["rank"] for r in part["ranks"]], [0])
        said = [n for n in part["notes"] if n["code"] == "rank_not_found"]
        self.assertEqual([(n["count"], n["text"].split(": ")[1]) for n in said], [(3, "42,77-78")])

    def test_a_step_range_that_is_not_there(self):
        self.refused(2, run("analyze", SAMPLE, "--step-range", "nosuch"), "--step-range", "'nosuch'", "ranges that repeat: iteration")
        part = self.folder / "0.wspart"
        self.assertEqual(run("analyze", SAMPLE, "--step-range", "nosuch", "--partial", "-o", part).returncode, 0)
        self.refused(2, run("merge", part), "'nosuch'", "ranges that repeat")
        self.assertEqual(run("analyze", SAMPLE, "--step-range", "iteration").returncode, 0)

    def test_steps_by_the_names_that_reports_print(self):
        every = self.report(SAMPLE)["steps"]["rows"]
        one = self.report(SAMPLE, "--step", every[1]["name"])["steps"]["rows"]
        self.assertEqual([r["name"] for r in one], [every[1]["name"]])
        some = self.report(SAMPLE, "--step", f"{every[1]['name']}:{every[2]['name']}")["steps"]["rows"]
        self.assertEqual([r["name"] for r in some], [r["name"] for r in every[1:3]])
        self.refused(2, run("analyze", SAMPLE, "--step", f"nosuch{every[1]['index']}"), "--step", f"its steps are {every[0]['name']}")

    def test_collectives_whose_other_ranks_were_deselected(self):
        notes = {n["code"] for n in self.report(SOURCE / "samples/nsys/exposed_all_to_all", "--rank", "1")["notes"]}
        self.assertIn("deselected_collectives", notes)
        self.assertFalse(notes & {"unmatched_collectives", "unsplit_collectives"})

    def test_time(self):
        rows = self.report(SAMPLE)["steps"]["rows"]
        a, b = rows[1]["begin_ns"], rows[2]["end_ns"]
        some = self.report(SAMPLE, "--time", f"{a}:{b}")["steps"]["rows"]
        self.assertTrue(some)
        self.assertTrue(all(r["begin_ns"] >= a and r["end_ns"] <= b for r in some))
        self.assertLess(len(some), len(rows))

    def test_windows(self):
        self.assertEqual(self.report(SAMPLE, "--step-window", "host")["steps"]["window"], "host")
        whole = self.report(SAMPLE, "--step-window", "whole")
        self.assertEqual((whole["steps"]["origin"], whole["steps"]["count"], len(whole["steps"]["rows"])), ("whole", 0, 1))
        self.assertIn("one window", run("analyze", SAMPLE, "--step-window", "whole").stdout)

    def test_a_time_outside_the_recording_is_refused(self):
        for time in ("1:2", "500s:600s"):
            self.refused(2, run("analyze", SAMPLE, "--time", time), "--time", time, "its records lie at", "since the first")
        steps = self.report(SAMPLE)["steps"]["rows"]
        middle = (steps[1]["begin_ns"] + steps[1]["end_ns"]) // 2
        ran = run("analyze", SAMPLE, "--time", f"{middle}:{middle + (steps[1]['end_ns'] - middle) // 2}")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        every = sum(k["count"] for k in self.report(SAMPLE, "--step-window", "whole")["kernels"])
        counted = int(re.search(r"\((\d+) device records in", " ".join(ran.stdout.split())).group(1))
        self.assertGreater(counted, 0)
        self.assertLess(counted, every // 2)

    def test_ranks_that_were_chosen(self):
        folder = SOURCE / "samples/nsys/exposed_all_to_all"
        text = " ".join(run("analyze", folder, "--rank", "0,9").stdout.split())
        self.assertIn("only a part: rank 0 (asked for and not there: rank 9)", text)
        self.assertIn("without --rank", text)
        self.assertNotIn("were recorded: ", text)
        self.assertNotIn("record the peer ranks", text)
        self.assertNotIn("peers_missing", [n["code"] for n in self.report(folder, "--rank", "0")["notes"]])
        self.assertIn("peers_missing", [n["code"] for n in self.report(sorted(folder.glob("*.sqlite"))[0])["notes"]])

    def test_a_selection_is_said_once(self):
        notes = self.report(SAMPLE, "--step", "2:3")["notes"]
        self.assertEqual([n["text"].split(": ")[1] for n in notes if n["code"] == "selection"], ["step 2:3"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
