#!/usr/bin/env python3
"""Files: what is written, what is never overwritten, and what is said of files that can not be read.

files_check.py WALLSIGHT SOURCE_DIR
"""
import gzip
import hashlib
import json
import os
import resource
import subprocess
import sys
import unittest

from cli_check import BINARY, HOSTILE, SAMPLE, SOURCE, Cli, run


def own_rule(path):
    """A rule that always fires, made of one of the catalogue."""
    source = next(p for p in sorted((SOURCE / "rules").glob("*/*.json")) if not p.name.endswith(".cases.json"))
    rule = json.loads(source.read_text())
    rule.update(id=f"{path.parent.name}/{path.stem}", title="a rule of my own house", after=[], conflicts=[], causes=[])
    rule.update({"from": "fact_run r", "when": ["r.rank_count >= 1"], "evidence": ["r.rank_count"], "why": "A sentence of this house."})
    rule.pop("gain", None)
    path.write_text(json.dumps(rule))
    return path


class Files(Cli):
    def test_several_reports_and_facts(self):
        md, js, db = (self.folder / n for n in ("r.md", "r.json", "run.wsdb"))
        ran = run("analyze", SAMPLE, "--report", f"md={md}", "--report", f"json={js}", "--report", "text", "-o", db)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("VERDICT", ran.stdout)
        self.assertTrue(md.read_text().startswith("# wallsight"))
        self.assertEqual(json.loads(js.read_text())["schema"], 1)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["r.json", "r.md", "run.wsdb"])
        again = run("report", db, "--report", "json")
        self.assertEqual((again.returncode, again.stdout), (0, js.read_text()))
        self.assertEqual(run("report", db).stdout, ran.stdout)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["r.json", "r.md", "run.wsdb"])

    def test_only_files_leave_stdout_empty(self):
        ran = run("analyze", SAMPLE, "--report", f"json={self.folder / 'r.json'}")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))

    def test_an_input_is_never_overwritten(self):
        trace = self.folder / "rank0.json"
        trace.write_bytes(HOSTILE.read_bytes())
        link = self.folder / "link"
        link.symlink_to(trace)
        before = hashlib.sha256(trace.read_bytes()).hexdigest()
        for args in (["-o", trace], ["--report", f"json={trace}"], ["--report", f"md={link}"], ["-o", link]):
            self.refused(3, run("analyze", trace, *args), "input")
            self.refused(3, run("analyze", self.folder, *args), "input")
        db = self.folder / "run.wsdb"
        self.assertEqual(run("analyze", trace, "-o", db).returncode, 0)
        self.refused(3, run("report", db, "--report", f"json={db}"), "input")
        self.assertEqual(hashlib.sha256(trace.read_bytes()).hexdigest(), before)

    def test_facts_beside_traces_are_no_input_of_a_folder(self):
        traces = self.folder / "traces"
        traces.mkdir()
        (traces / "rank0.json.gz").write_bytes((SOURCE / "samples/kineto/launch_bound/trace.json.gz").read_bytes())
        alone = run("analyze", traces, "--report", "json")
        self.assertEqual((alone.returncode, alone.stderr), (0, ""))
        self.assertEqual(run("analyze", traces, "-o", traces / "run.wsdb", "--report", f"md={self.folder / 'r.md'}").returncode, 0)
        again = run("analyze", traces, "--report", "json")
        self.assertEqual((again.returncode, again.stderr, again.stdout), (0, "", alone.stdout))
        self.refused(2, run("analyze", traces, traces / "run.wsdb"), "wallsight report")

    def test_facts_replace_facts_and_nothing_else(self):
        keep = self.folder / "keep.txt"
        keep.write_text("mine")
        self.refused(3, run("analyze", SAMPLE, "-o", keep), "keep.txt")
        self.assertEqual(keep.read_text(), "mine")
        db = self.folder / "run.wsdb"
        for _ in range(2):
            self.assertEqual(run("analyze", SAMPLE, "-o", db, "--report", f"md={keep}").returncode, 0)
        self.assertTrue(keep.read_text().startswith("# wallsight"))

    def test_on_error_nothing_is_written(self):
        bad = self.folder / "bad.json"
        bad.write_text("not a trace")
        db, js = self.folder / "run.wsdb", self.folder / "r.json"
        self.refused(2, run("analyze", bad, "-o", db, "--report", f"json={js}"), "bad.json")
        self.refused(2, run("analyze", SAMPLE, "--report", f"json={js}", "--report", f"md={self.folder / 'no' / 'r.md'}"), "r.md")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["bad.json"])
        js.write_text("old")
        self.refused(2, run("analyze", bad, "--report", f"json={js}"))
        self.assertEqual(js.read_text(), "old")

    def test_an_unwritable_folder_is_an_error(self):
        self.refused(2, run("analyze", SAMPLE, "-o", self.folder / "no" / "run.wsdb"), "run.wsdb")
        self.refused(3, run("analyze", SAMPLE, "-o", self.folder), "folder")
        self.refused(3, run("analyze", SAMPLE, "-o", "/dev/null"), "/dev/null")

    def test_whatever_a_verb_reads_is_never_overwritten(self):
        trace = SOURCE / "samples/kineto/dataloader/trace.json.gz"
        config = self.folder / "launch.sh"
        config.write_text("torchrun train.py --seq-length 4096 --micro-batch-size 1\n")
        family = self.folder / "rules/team"
        family.mkdir(parents=True)
        rule = own_rule(family / "own.json")
        part, db = self.folder / "0.wspart", self.folder / "run.wsdb"
        self.assertEqual(run("analyze", "--partial", trace, "-o", part).returncode, 0)
        self.assertEqual(run("analyze", trace, "-o", db).returncode, 0)
        verbs = [["analyze", trace, "--config", config], ["merge", part, "--config", config], ["plan", config], ["report", db]]
        before = {p: p.read_bytes() for p in (config, rule, part, db)}
        for verb in verbs:
            targets = [rule, family / "new.json", self.folder / "rules/x.json"] + [p for p in (config, part, db) if p in verb]
            for target in targets:
                for form in ("md", "json"):
                    self.refused(3, run(*verb, "--rules", self.folder / "rules", "--report", f"{form}={target}"), target.name, "input")
        self.refused(3, run("analyze", trace, "--config", config, "-o", config), "input")
        for kept in ("report.md", "rules/team/report.md"):
            self.assertEqual(run("plan", config, "--rules", self.folder / "rules", "--report", f"md={self.folder / kept}").returncode, 0)
        self.assertEqual({p: p.read_bytes() for p in before}, before)
        self.assertFalse((family / "new.json").exists())

    def test_a_failed_write_leaves_nothing_and_names_the_file(self):
        db = self.folder / "x.wsdb"
        small = f"ulimit -f 8; exec '{BINARY}' analyze '{SAMPLE}' -o '{db}'"
        ran = subprocess.run(["sh", "-c", small], capture_output=True, text=True, timeout=120)
        self.refused(2, ran, "x.wsdb: ", "ulimit -f")
        self.assertNotIn(".tmp", ran.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])
        ran = run("analyze", SAMPLE, "-o", self.folder / "no/x.wsdb")
        self.refused(2, ran, "x.wsdb: ", "folder")
        self.assertNotIn(".tmp", ran.stderr)

    def test_damage_and_impossible_times_say_what_they_are(self):
        packed = bytearray((SOURCE / "samples/kineto/host_sync/trace.json.gz").read_bytes())
        plain = json.loads(gzip.decompress(bytes(packed)))
        for event in plain["traceEvents"]:
            if "ts" in event:
                event["ts"] += 9.2e15
        far = self.folder / "far.json"
        far.write_text(json.dumps(plain))
        packed[-6] ^= 0x55
        changed = self.folder / "changed.json.gz"
        changed.write_bytes(bytes(packed))
        for path, words, rule, note in ((far, "Times out of range: ", "data_quality/times_out_of_range", "time_out_of_range"),
                                        (changed, "The file is damaged: ", "data_quality/file_damaged", "damaged_file")):
            report = json.loads(run("analyze", path, "--report", "json").stdout)
            self.assertEqual((report["verdict"]["kind"], report["verdict"]["cause"]), ("insufficient", "records_lost"))
            self.assertEqual({f["rule"] for f in report["findings"] if f["status"] == "fires"}, {rule})
            codes = {n["code"] for n in report["notes"]}
            self.assertIn(note, codes)
            self.assertFalse(codes & {"truncated_file", "no_gpu_events", "bad_number", "steps_unknown"})
            self.assertIn(words, run("analyze", path).stdout)

    def test_thousands_of_devices_cost_no_pass_over_the_trace_each(self):
        def seconds(devices, kernels_of_the_first):
            at = [(device, 1000 + 10 * device) for device in range(devices)] + [(0, 1007 + 10 * (devices + k)) for k in range(kernels_of_the_first)]
            path = self.folder / "many.json"
            path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
                {"ph": "X", "cat": "kernel", "name": "gemm", "pid": device, "tid": 7, "ts": ts, "dur": 5, "args": {"device": device, "stream": 7}}
                for device, ts in at]}))
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            self.assertEqual(run("analyze", path).returncode, 0)
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

        # A pass over the 110,000 kernels for each of 10,000 devices would cost as much again as all the rest.
        self.assertLess(seconds(10_000, 100_000), 1.5 * (seconds(10_000, 0) + seconds(1, 100_000)))

    def test_a_file_cut_anywhere_explains_no_idle_time(self):
        packed = (SOURCE / "samples/kineto/host_sync/trace.json.gz").read_bytes()
        plain = gzip.decompress(packed)
        seen = set()
        for data, name in ((packed, "cut.json.gz"), (plain, "cut.json")):
            for tenth in range(3, 10):
                cut = self.folder / name
                cut.write_bytes(data[:len(data) * tenth // 10])
                ran = run("analyze", cut, "--report", "json")
                if ran.returncode != 0:
                    self.refused(2, ran, name)
                    continue
                report = json.loads(ran.stdout)
                self.assertEqual((report["verdict"]["kind"], report["verdict"]["cause"]), ("insufficient", "records_lost"))
                self.assertEqual({n["code"] for n in report["notes"]} & {"truncated_file", "no_gpu_events"}, {"truncated_file"})
                findings = {f["rule"] for f in report["findings"] if f["status"] == "fires"}
                self.assertEqual({f for f in findings if not f.startswith("data_quality/")}, set())
                self.assertIn("data_quality/file_cut_off", findings)
                self.assertNotIn("data_quality/unexplained_idle", findings)
                seen |= {row["cause"] for row in report["idle"] if row["ns"] > 0}
        self.assertEqual(seen, {"unknown"})


class Remedies(Cli):
    """Every refusal is one line that says where and what to do."""

    def remedy(self, ran, *words):
        self.refused(2, ran, "; ", *words)

    def test_what_can_not_be_read(self):
        for verb in ("analyze", "merge", "report", "explain", "plan"):
            self.remedy(run(verb, self.folder / "none"), "none: ", "check the name")
            self.remedy(run(verb, "/dev/null"), "/dev/null: ")
            self.refused(3, run(verb, ""), "--help")
        for verb in ("report", "explain", "plan"):
            self.remedy(run(verb, self.folder), "found a folder", "name the file")
        self.remedy(run("analyze", self.folder), "give a folder")
        self.remedy(run("merge", self.folder), "--partial")
        self.remedy(run("rules", "check", self.folder / "none"), "check the name")
        self.remedy(run("analyze", SAMPLE, "--rules", self.folder), "rules")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for verb in ("analyze", "report", "plan"):
            self.remedy(run(verb, pipe), "pipe: ", "write it to a file first")

    def test_the_right_verb_is_named(self):
        db, part = self.folder / "run.wsdb", self.folder / "0.wspart"
        run("analyze", SAMPLE, "-o", db)
        run("analyze", SAMPLE, "--partial", "-o", part)
        self.remedy(run("analyze", db), "wallsight report")
        self.remedy(run("analyze", part), "wallsight merge")
        self.remedy(run("merge", db), "partial")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
