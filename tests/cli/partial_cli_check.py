#!/usr/bin/env python3
"""Partials as a user meets them: `analyze --partial`, `merge`, what they refuse.

partial_cli_check.py WALLSIGHT SOURCE_DIR
"""
import json
import sys
import unittest

from cli_check import SOURCE, Cli, run


class Partials(Cli):
    """What is kept of ranks goes into files, and merge makes the run of them."""

    RANKS = SOURCE / "samples/kineto/exposed_all_to_all"

    def setUp(self):
        super().setUp()
        self.traces = sorted(self.RANKS.glob("rank*"))
        self.parts = [self.folder / f"{i}.wspart" for i in range(len(self.traces))]

    def write(self, *args, which=None):
        for trace, part in list(zip(self.traces, self.parts))[:which]:
            done = run("analyze", "--partial", trace, "-o", part, *args)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_a_partial_given_twice_is_told(self):
        self.write()
        ran = run("merge", *self.parts, self.parts[1], "--report", "json")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        notes = [n["text"] for n in json.loads(ran.stdout)["notes"] if "more than once" in n["text"]]
        self.assertEqual([n.split(": ")[1] for n in notes], ["1.wspart"])
        link = self.folder / "again.json.gz"
        link.symlink_to(self.traces[0])
        twice = run("analyze", *self.traces, self.traces[1], link, "--report", "json")
        notes = [n for n in json.loads(twice.stdout)["notes"] if "more than once" in n["text"]]
        self.assertEqual(len(notes), 2)

    def test_the_report_is_that_of_all_traces(self):
        for args, later in (((), ()), ((), ("--rank", "1")), (("--step", "3:6"), ()), (("--no-what-if",), ()),
                            ((), ("--no-what-if",)), ((), ("--what-if", "ep_zero+launch_zero")), (("--step-window", "host"), ())):
            with self.subTest(args=args, later=later):
                self.write(*args)
                merged = run("merge", *reversed(self.parts), *later, "--report", "json")
                whole = run("analyze", *self.traces, *args, *later, "--report", "json")
                self.assertEqual((merged.returncode, merged.stderr), (0, ""))
                self.assertEqual(merged.stdout, whole.stdout)
        self.assertEqual(run("merge", self.folder).stdout, run("merge", *self.parts).stdout)

    def test_partial_is_no_report(self):
        trace = self.traces[0]
        self.refused(3, run("analyze", "--partial", trace), "-o")
        for args in (["--rank", "0"], ["--report", "md"], ["--rules", self.folder], ["--fail-on", "wall=memory"], ["--all"],
                     ["--what-if", "ep_zero"], ["--show-names"]):
            self.refused(3, run("analyze", "--partial", trace, "-o", self.parts[0], *args), args[0], "merge")
        self.refused(3, run("analyze", trace, "--of", "2"), "--of")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_partials_replace_partials_and_nothing_else(self):
        self.write(which=1)
        self.write(which=1)
        keep = self.folder / "keep.txt"
        keep.write_text("mine")
        self.refused(3, run("analyze", "--partial", self.traces[0], "-o", keep), "keep.txt", "partial")
        self.assertEqual(keep.read_text(), "mine")
        before = self.parts[0].read_bytes()
        self.refused(3, run("merge", self.parts[0], "-o", self.parts[0]), "input")
        self.refused(3, run("analyze", self.traces[0], "-o", self.parts[0]), "fact database")
        self.refused(2, run("analyze", "--partial", keep, "-o", self.parts[0]), "keep.txt")
        self.assertEqual(self.parts[0].read_bytes(), before)
        self.refused(2, run("analyze", "--partial", self.traces[0], "-o", self.folder / "no" / "x.wspart"), "x.wspart")

    def test_what_is_no_partial_is_refused_in_one_line(self):
        self.write()
        self.refused(2, run("merge", self.traces[0]), self.traces[0].name, "wallsight analyze")
        self.refused(2, run("analyze", self.parts[0]), "0.wspart", "wallsight merge")
        self.refused(2, run("merge", self.RANKS), "exposed_all_to_all", "--partial")
        self.refused(2, run("merge", self.folder / "none.wspart"), "none.wspart", "No such file")
        again = self.folder / "again.wspart"
        again.write_bytes(self.parts[1].read_bytes())
        self.refused(2, run("merge", self.folder), "1.wspart", "again.wspart", "rank 1")
        again.write_bytes(self.parts[1].read_bytes()[:-1])
        self.refused(2, run("merge", self.folder), "again.wspart", "bytes of")
        again.write_bytes(b"x" + self.parts[1].read_bytes())
        self.refused(2, run("merge", self.folder), "again.wspart", "another file")

    def test_partials_of_one_run_are_made_alike(self):
        self.write("--step", "3:4")
        self.write("--step", "3:5", which=1)
        self.refused(2, run("merge", *self.parts), "1.wspart", "--step 3:4", "--step 3:5")
        self.write("--step", "3:4", "--no-what-if", which=1)
        self.refused(2, run("merge", *self.parts), "--no-what-if")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
