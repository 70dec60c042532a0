#!/usr/bin/env python3
"""The command line as a user meets it: exit codes, streams, files, colour, bad usage, hostile names.

cli_check.py WALLSIGHT SOURCE_DIR
"""
import gzip
import json
import os
import pathlib
import pty
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

BINARY, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
SAMPLE = SOURCE / "samples/nsys/launch_bound"
HOSTILE = SOURCE / "tests/cli/data/hostile_names.json"
LATER = ["diff", "history", "attach", "ctl", "export"]


def run(*args, **more):
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "WALLSIGHT_DATA")}
    env.update(more.pop("env", {}))
    return subprocess.run([BINARY, *map(str, args)], capture_output=True, text=True, timeout=120, env=env,
                          stdin=subprocess.DEVNULL, **more)


def on_terminal(*args, env=None):
    """Stdout of a run whose stdout is a terminal."""
    lead, follow = pty.openpty()
    child = subprocess.Popen([BINARY, *map(str, args)], stdout=follow, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                             env={"PATH": os.environ["PATH"], "TERM": "xterm", **(env or {})})
    os.close(follow)
    out = b""
    while True:
        try:
            part = os.read(lead, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        out += part
    os.close(lead)
    child.wait(timeout=60)
    return out


class Cli(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def refused(self, code, ran, *words):
        """One line on stderr that names the place, nothing on stdout."""
        self.assertEqual((ran.returncode, ran.stdout), (code, ""), ran.stderr)
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        self.assertTrue(ran.stderr.startswith("wallsight: "), ran.stderr)
        self.assertFalse(ran.stderr.rstrip("\n").endswith("."), ran.stderr)
        for word in words:
            self.assertIn(word, ran.stderr)


class Usage(Cli):
    def test_help_and_version_go_to_stdout(self):
        for verb in ([], ["analyze"], ["report"], ["explain"], ["rules"], ["record"], ["doctor"]):
            ran = run(*verb, "--help")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), verb)
            self.assertIn("sage: wallsight", ran.stdout)
            ran = run(*verb, "--version")
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), verb)
            self.assertRegex(ran.stdout, r"^wallsight \d+\.\d+\.\d+\n$")

    def test_help_lists_only_verbs_that_work(self):
        text = run("--help").stdout
        for verb in ("analyze", "merge", "report", "plan", "explain", "rules", "record", "doctor"):
            self.assertRegex(text, rf"\n  {verb} ")
        for verb in LATER:
            self.assertNotRegex(text, rf"\n  {verb} ")

    def test_later_verbs_say_so(self):
        for verb in LATER:
            self.refused(3, run(verb, "x"), verb, "yet")

    def test_bad_usage(self):
        self.refused(3, run())
        self.refused(3, run("analyse"), "analyse")
        self.refused(3, run("analyze"))
        self.refused(3, run("analyze", SAMPLE, "--no-such"), "--no-such")
        self.refused(2, run("analyze", SAMPLE, "--config", "x.yaml"), "x.yaml: ")
        self.refused(3, run("analyze", SAMPLE, "--report", "html"), "html")
        self.refused(3, run("analyze", SAMPLE, "--report", "pdf"), "pdf")
        self.refused(3, run("analyze", SAMPLE, "--report", "text", "--report", "json"), "--report")
        self.refused(3, run("analyze", SAMPLE, "--step", "7:3"), "--step")
        self.refused(3, run("analyze", SAMPLE, "--rank", "a"), "--rank")
        self.refused(3, run("analyze", SAMPLE, "--time", "5"), "--time")
        self.refused(3, run("analyze", SAMPLE, "--what-if", "launch_zero+faster"), "launch_zero+faster", "dp_overlapped")
        self.refused(3, run("analyze", SAMPLE, "--what-if", "launch_zero", "--no-what-if"), "--no-what-if")

    def test_bad_values(self):
        self.refused(3, run("analyze", SAMPLE, "--step-window", "week"), "week")
        self.refused(3, run("analyze", SAMPLE, "--threads", "0"), "--threads")
        self.refused(3, run("analyze", SAMPLE, "--fail-on", "wall=comm"), "comm")
        self.refused(3, run("analyze", SAMPLE, "--fail-on", "finding:no/such"), "no/such")
        for option in ("--step", "--rank", "--time", "--fail-on", "--step-range", "--config", "--report", "--rules", "-o"):
            self.refused(3, run("analyze", SAMPLE, option, ""), option)
        self.refused(3, run("report"))
        self.refused(3, run("rules"))
        self.refused(3, run("rules", "show", "no/such"), "no/such")

    def test_an_argument_with_control_bytes_is_shown_harmless(self):
        ran = run("\x1b[31mx\ny")
        self.refused(3, ran)
        self.assertNotIn("\x1b", ran.stderr)


class Streams(Cli):
    def test_stdout_is_the_report_and_stderr_is_silent(self):
        ran = run("analyze", SAMPLE)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertTrue(ran.stdout.startswith("wallsight "))
        self.assertIn("\nVERDICT ", ran.stdout)
        self.assertNotIn("\x1b", ran.stdout)

    def test_same_input_same_bytes(self):
        outs = {run("analyze", SOURCE / "samples/nsys/exposed_all_to_all", "--threads", n, "--report", "json").stdout
                for n in (1, 2, 4, 4)}
        self.assertEqual(len(outs), 1)

    def test_colour_on_a_terminal_unless_told_not_to(self):
        self.assertIn(b"\x1b[1m", on_terminal("analyze", SAMPLE))
        self.assertNotIn(b"\x1b", on_terminal("analyze", SAMPLE, env={"NO_COLOR": "1"}))
        self.assertNotIn(b"\x1b", on_terminal("analyze", SAMPLE, env={"TERM": "dumb"}))
        self.assertNotIn(b"\x1b", on_terminal("analyze", SAMPLE, "--report", "json"))

    def test_a_reader_that_leaves_early_is_no_error(self):
        with tempfile.TemporaryFile() as err:
            child = subprocess.Popen([BINARY, "analyze", SAMPLE, "--report", "json"], stdout=subprocess.PIPE, stderr=err)
            child.stdout.close()
            self.assertEqual(child.wait(timeout=60), 0)
            err.seek(0)
            self.assertEqual(err.read(), b"")

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            ran = subprocess.run([BINARY, "analyze", SAMPLE], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("stdout", ran.stderr)


class FailOn(Cli):
    def test_exit_1_and_the_report_is_still_there(self):
        verdict = json.loads(run("analyze", SAMPLE, "--report", "json").stdout)["verdict"]
        plain = run("analyze", SAMPLE).stdout
        for spec in (f"wall={verdict['wall']}", "share>0.01", f"kind=insufficient,cause={verdict['cause']}"):
            ran = run("analyze", SAMPLE, "--fail-on", spec)
            self.assertEqual((ran.returncode, ran.stdout), (1, plain), spec)
            self.assertTrue(ran.stderr.startswith("wallsight: --fail-on: "), ran.stderr)
        for spec in ("kind=insufficient", "share>0.9999", "cause=gc_pause,also=bubble"):
            ran = run("analyze", SAMPLE, "--fail-on", spec)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""), spec)

    def test_a_finding_trips(self):
        findings = json.loads(run("analyze", SAMPLE, "--report", "json").stdout)["findings"]
        fires = [f["rule"] for f in findings if f["status"] == "fires"]
        self.assertTrue(fires)
        self.assertEqual(run("analyze", SAMPLE, "--fail-on", f"finding:{fires[0]}").returncode, 1)

    def test_report_knows_it_too(self):
        db = self.folder / "run.wsdb"
        run("analyze", SAMPLE, "-o", db)
        self.assertEqual(run("report", db, "--fail-on", "share>0.01").returncode, 1)


class HostileNames(Cli):
    def test_no_report_obeys_a_name(self):
        for form in ("text", "md", "json"):
            ran = run("analyze", HOSTILE, "--report", form, "--all")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertNotRegex(ran.stdout, "[\x00-\x09\x0b-\x1f\x7f\x80-\x9f]", form)
            if form == "md":
                self.assertNotRegex(ran.stdout, r"<(script|img)")
                self.check_tables(ran.stdout)

    def check_tables(self, text):
        width = tables = 0
        for line in text.splitlines():
            if not line.startswith("|"):
                width = 0
                continue
            cells = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line))
            tables += width == 0
            width = width or cells
            self.assertEqual(cells, width, line)
        self.assertGreater(tables, 2)

    def test_names_of_hosts_and_folders_stay_home(self):
        secret = self.folder / "secret_project"
        secret.mkdir()
        shutil.copy(HOSTILE, secret / "rank0.json")
        for form in ("text", "md", "json"):
            self.assertNotIn("secret_project", run("analyze", secret, "--report", form).stdout)
        self.assertIn("secret_project", run("analyze", secret / "rank0.json", "--report", "json", "--show-names").stdout)

    def test_a_trace_with_odd_bytes_in_its_path(self):
        odd = self.folder / "a\x1b[31m\nb%41?x=1#.json"
        odd.write_bytes(HOSTILE.read_bytes())
        ran = run("analyze", odd, "-o", self.folder / "run.wsdb")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertNotIn("\x1b", ran.stdout)


class Facts(Cli):
    def test_what_is_no_fact_database_is_refused(self):
        self.refused(2, run("report", self.folder / "none.wsdb"), "none.wsdb")
        self.refused(2, run("report", HOSTILE), "hostile_names.json")
        self.refused(2, run("explain", HOSTILE), "hostile_names.json")
        other = self.folder / "other.wsdb"
        sqlite3.connect(other).executescript("CREATE TABLE t(x); INSERT INTO t VALUES (1);")
        self.refused(2, run("report", other), "other.wsdb")
        db = self.folder / "run.wsdb"
        run("analyze", SAMPLE, "-o", db)
        link = sqlite3.connect(db)
        version = link.execute("PRAGMA user_version").fetchone()[0]
        link.execute("PRAGMA user_version = 999")
        link.commit()
        link.close()
        self.refused(2, run("report", db), "version")
        link = sqlite3.connect(db)
        link.executescript(f"PRAGMA user_version = {version}; DROP TABLE fact_kernel; CREATE VIEW fact_kernel AS SELECT 1 AS name")
        link.close()
        self.refused(2, run("report", db), "run.wsdb", "fact_kernel")
        self.refused(2, run("explain", db), "run.wsdb", "fact_kernel")

    def test_hostile_fact_databases_do_no_harm(self):
        good = self.folder / "good.wsdb"
        run("analyze", SAMPLE, "-o", good)
        raw = good.read_bytes()
        for cut in (0, 1, 99, 100, 4096, len(raw) // 2, len(raw) - 1):
            part = self.folder / "part.wsdb"
            part.write_bytes(raw[:cut])
            self.assertIn(run("report", part).returncode, (0, 2), cut)
        for statement in ("DELETE FROM fact_run", "DROP TABLE fact_kernel", "DELETE FROM fact_leaf",
                          "UPDATE fact_run SET cause = char(27) || '[31m', verdict_kind = '<b>'"):
            copy = self.folder / "copy.wsdb"
            copy.write_bytes(raw)
            link = sqlite3.connect(copy)
            link.execute(statement)
            link.commit()
            link.close()
            for form in ("text", "md", "json"):
                ran = run("report", copy, "--report", form)
                self.assertIn(ran.returncode, (0, 2), statement)
                self.assertNotIn("\x1b", ran.stdout + ran.stderr)

    def test_explain(self):
        db = self.folder / "run.wsdb"
        run("analyze", SAMPLE, "-o", db)
        every = run("explain", db, "--all")
        self.assertEqual((every.returncode, every.stderr), (0, ""))
        self.assertRegex(every.stdout, r"(?m)^\S+/\S+: fires$")
        self.assertRegex(every.stdout, r"(?m)^\S+/\S+: does not fire$")
        self.assertRegex(every.stdout, r"(?m)^  \+  ")
        self.assertRegex(every.stdout, r"(?m)^  -  ")
        rule = re.search(r"(?m)^(\S+/\S+): fires$", every.stdout).group(1)
        summary = run("explain", db)
        self.assertEqual((summary.returncode, summary.stderr), (0, ""))
        told = re.findall(r"(?m)^(fires|can not say|does not fire) +(\S+/\S+) ", summary.stdout)
        # Rules for want of a configuration share a line; --all has each of them.
        each = set(re.findall(r"(?m)^(\S+/\S+): ", every.stdout))
        shared = re.search(r"(?m)^does not fire +(\d+) rules on the run configuration", summary.stdout)
        silent = each - {r for _, r in told}
        self.assertEqual(len(silent), int(shared.group(1)))
        self.assertEqual(len(told) + len(silent), len(each))
        self.assertNotIn("cfg.given", summary.stdout)
        self.assertEqual(dict((r, s) for s, r in told)[rule], "fires")
        self.assertLess(len(summary.stdout), len(every.stdout) / 5)
        one = run("explain", db, rule).stdout
        self.assertEqual(re.findall(r"(?m)^(\S+/\S+): ", one), [rule])
        self.assertNotIn("  -  ", one)
        self.refused(3, run("explain", db, "no/such"), "no/such")


class Inputs(Cli):
    def test_what_is_no_trace_is_refused_in_one_line(self):
        cases = {"empty.json": b"", "text.json": b"hello", "page.json": b"<html>", "half.json.gz": gzip.compress(b"{")[:8]}
        for name, content in cases.items():
            (self.folder / name).write_bytes(content)
            self.refused(2, run("analyze", self.folder / name), name)
        self.refused(2, run("analyze", self.folder / "none.json"), "none.json")
        empty = self.folder / "empty"
        empty.mkdir()
        self.refused(2, run("analyze", empty), "empty")

    def test_a_default_constant_is_named(self):
        facts = self.folder / "run.wsdb"
        report = json.loads(run("analyze", SOURCE / "samples/kineto/exposed_all_to_all", "-o", facts, "--report", "json").stdout)
        texts = [n["text"] for n in report["notes"] if n["code"] == "constants_default"]
        self.assertEqual(len(texts), 1, texts)
        self.assertTrue(texts[0].endswith(": launch latency; the gap between kernels was measured"), texts)
        with sqlite3.connect(facts) as db:
            used = db.execute("SELECT DISTINCT launch_latency_ns, kernel_gap_ns = 2000 FROM fact_rank").fetchall()
        self.assertEqual(used, [(5000, 0)])

    def test_folders_below_are_named(self):
        for name in ("before", "after"):
            shutil.copytree(SOURCE / "samples/kineto/healthy", self.folder / name)
        self.refused(2, run("analyze", self.folder), "only in folders below it: after, before")
        shutil.copy(next((self.folder / "after").glob("*.json.gz")), self.folder)
        report = json.loads(run("analyze", self.folder, "--report", "json").stdout)
        self.assertEqual(len(report["run"]["sources"]), 1)
        self.assertTrue([n for n in report["notes"] if n["code"] == "folders_not_read" and n["text"].endswith(": after, before")])

    def test_a_run_with_steps_did_fit_whatever_the_estimate_says(self):
        config = self.folder / "run.json"
        config.write_text(json.dumps({"framework": "megatron_lm", "gpus": 1, "platform": "a100", "num_layers": 80, "hidden_size": 8192,
                                      "ffn_hidden_size": 28672, "attention_heads": 64, "vocab_size": 128256, "seq_len": 4096, "tp": 1, "pp": 1, "cp": 1}))
        for trace, expected in ((SOURCE / "tests/cases/k56_no_profilerstep.json", True), (SAMPLE, False)):
            ran = run("analyze", trace, "--config", config, "--report", "json")
            rules = [f["rule"] for f in json.loads(ran.stdout)["findings"] if f["status"] == "fires"]
            self.assertEqual("configuration/memory_exceeds" in rules, expected, trace)


class Installed(Cli):
    def test_data_are_found_beside_the_program_or_named(self):
        (self.folder / "bin").mkdir()
        program = self.folder / "bin/wallsight"
        shutil.copy2(BINARY, program)
        ask = [str(program), "rules", "list"]
        env = {"PATH": os.environ["PATH"]}
        ran = subprocess.run(ask, capture_output=True, text=True, env=env)
        self.refused(2, ran, "WALLSIGHT_DATA")
        ran = subprocess.run(ask, capture_output=True, text=True, env={**env, "WALLSIGHT_DATA": str(SOURCE)})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        shutil.copytree(SOURCE / "rules", self.folder / "share/wallsight/rules")
        ran = subprocess.run(ask, capture_output=True, text=True, env=env)
        self.assertEqual(ran.returncode, 0, ran.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
