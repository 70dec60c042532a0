#!/usr/bin/env python3
"""`rules` and `--rules`: list, show, check, and rules of one's own.

rules_cli_check.py WALLSIGHT SOURCE_DIR
"""
import json
import re
import shutil
import sys
import unittest

from cli_check import SAMPLE, SOURCE, Cli, run


class Rules(Cli):
    def test_list_and_show(self):
        ran = run("rules", "list")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        lines = ran.stdout.splitlines()
        self.assertRegex(lines[0], r"^rule +phase +wall$")
        ids = [line.split()[0] for line in lines[1:] if not line.startswith(" ")]
        self.assertTrue(ids)
        self.assertEqual(ids, sorted(ids))
        shown = run("rules", "show", ids[0])
        self.assertEqual(shown.returncode, 0)
        for word in ("rule ", "when ", "action ", "source "):
            self.assertIn(f"\n{word}", "\n" + shown.stdout)

    def test_show_tells_all_that_a_rule_holds(self):
        def values(value):
            if isinstance(value, dict):
                return [v for k, kept in value.items() if k != "frameworks" for v in values(kept)]
            if isinstance(value, list):
                return [v for kept in value for v in values(kept)]
            return [value] if isinstance(value, str) else []

        files = [p for p in sorted((SOURCE / "rules").glob("*/*.json")) if not p.name.endswith(".cases.json")]
        for path in files[::6]:
            rule = json.loads(path.read_text())
            shown = " ".join(run("rules", "show", rule["id"]).stdout.split())
            for value in values(rule):
                self.assertIn(" ".join(value.split()), shown, rule["id"])

    def test_check(self):
        ran = run("rules", "check", SOURCE / "rules")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        family = self.folder / "mine"
        family.mkdir()
        (family / "bad.json").write_text('{"id": "mine/bad"}')
        ran = run("rules", "check", self.folder)
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("mine/bad.json", ran.stderr)
        self.refused(2, run("rules", "check", self.folder / "none"), "none")

    def test_a_folder_is_checked_as_it_will_be_used(self):
        shutil.copytree(SOURCE / "samples/rules", self.folder / "own")
        path = self.folder / "own/team/loader_workers.json"
        rule = json.loads(path.read_text())
        built_in = "compute_host/input_pipeline"
        path.write_text(json.dumps(dict(rule, after=[built_in], unless=[built_in], conflicts=["compute_host/manual_gc"])))
        self.assertEqual(run("rules", "check", self.folder / "own").stderr, "")
        self.assertEqual(run("analyze", SAMPLE, "--rules", self.folder / "own").returncode, 0)
        taken = self.folder / "own/compute_host"
        taken.mkdir()
        for end in (".json", ".cases.json"):
            shutil.copy(SOURCE / ("rules/" + built_in + end), taken)
        self.refused(2, run("rules", "check", self.folder / "own"), built_in)
        self.refused(2, run("analyze", SAMPLE, "--rules", self.folder / "own"), built_in)

    def test_the_guide_shows_its_rule_firing(self):
        guide = (SOURCE / "rules/YOUR_OWN_RULE.md").read_text()
        loader = self.folder / "loader.json"
        loader.write_text(re.search(r"echo '(.*)' > loader.json", guide).group(1))
        command = re.search(r"wallsight (analyze .* --config) loader.json --rules my_rules", guide).group(1).split()
        told = run(command[0], SOURCE / command[1], command[2], loader, "--rules", SOURCE / "samples/rules").stdout
        self.assertIn(re.search(r'The advice now has "(.*?)"', guide).group(1), told)

    def test_somebodys_own_rules_are_added(self):
        source = next(p for p in sorted((SOURCE / "rules").glob("*/*.json")) if not p.name.endswith(".cases.json"))
        rule = json.loads(source.read_text())
        rule.update(id="mine/own", title="a rule of my own house", after=[], conflicts=[], causes=[])
        rule.update({"from": "fact_run r", "when": ["r.rank_count >= 1"], "evidence": ["r.rank_count"], "why": "A sentence of this house."})
        rule.pop("gain", None)
        (self.folder / "mine").mkdir()
        (self.folder / "mine/own.json").write_text(json.dumps(rule))
        self.assertIn("mine/own", run("rules", "list", "--rules", self.folder).stdout)
        self.assertIn("a rule of my own house", run("analyze", SAMPLE, "--rules", self.folder, "--all").stdout)
        self.refused(2, run("analyze", SAMPLE, "--rules", self.folder / "none"), "none")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
