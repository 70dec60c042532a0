#!/usr/bin/env python3
"""Ranks that do not fit together: degraded_ranks.py WALLSIGHT

Simulates runs of several ranks (simulator/), spoils what the analysis gets to see and holds the waiting it reports
against the simulated truth: never more than a rank really waited, nearly all of it where nothing is missing, and a
note wherever something is lost.
"""
import gzip
import json
import pathlib
import re
import sys
import tempfile

import program
from simulator import kineto, training

# Clocks are fitted on ends that differ by less than a microsecond here: so much may be added per collective.
CLOCK_NS = 1_500
SETUPS = {
    "experts": training.Setup(seed=11, ep=4, experts=(0.7, 0.8, 0.9, 1.6), mib={"ep": 16}, bandwidth={"ep": 50.0}, steps=6, layers=2),
    "slow GPU": training.Setup(seed=12, tp=2, dp=2, slow_gpu=(2, 1.3), mib={"tp": 32, "dp": 200}, bandwidth={"tp": 200.0}, steps=6, layers=2),
}


def waits(hosts):
    """Per rank: (begin, end, wait) of its communication kernels; the wait ends when the last member begins."""
    begins = {}
    for h in hosts:
        for op in h.gpu.ops:
            if op.what == "comm":
                begins.setdefault(id(op.meeting), []).append(op.begin)
    return {h.rank: [(op.begin, op.end, max(begins[id(op.meeting)]) - op.begin) for op in h.gpu.ops if op.what == "comm"] for h in hosts}


def windows(host, first_launch=0):
    """Device windows of the steps: a step begins when the host has begun it and the device has computed what was
    launched before (in the recording that begins at first_launch)."""
    begins = sorted((r.begin, r.name) for r in host.ranges if r.name.startswith("ProfilerStep#"))
    launched = {c.correlation: c.begin for c in host.calls}
    starts = []
    for begin, name in begins:
        before = [op.end for op in host.gpu.ops if op.what == "compute" and first_launch <= launched[op.correlation] < begin]
        starts.append((max([begin] + before), name))
    ends = [s for s, _ in starts[1:]] + [1 << 62]
    return {name: (start, end) for (start, name), end in zip(starts, ends)}


def true_wait(rows, begin, end):
    """(most that a rank waited inside a window, number of collectives there)."""
    inside = [(max(b, begin), min(b + w, end)) for b, e, w in rows if b < end and e > begin]
    return sum(max(0, e - b) for b, e in inside), len(inside)


class Check:
    def __init__(self, binary, name, setup, folder):
        self.binary, self.name, self.folder = binary, name, folder
        self.hosts = training.simulate(setup)
        self.waits = waits(self.hosts)
        self.problems = []

    def files(self, story, texts):
        """Text per file name, or bytes to be written as they are."""
        place = self.folder / self.name.replace(" ", "_") / story.replace(" ", "_")
        place.mkdir(parents=True)
        out = []
        for name, text in texts.items():
            out.append(place / name)
            out[-1].write_bytes(text if isinstance(text, bytes) else gzip.compress(text.encode(), 1, mtime=0))
        return out

    def texts(self, shift=None):
        world = len(self.hosts)
        return {f"rank{h.rank}.json.gz": kineto.text_of(h, world, True, (shift or {}).get(h.rank, 0)) for h in self.hosts}

    def hold(self, story, texts, least=0.0, notes=(), late=None, copies=None):
        """least: share of the true waiting that has to be reported; notes: codes of which one has to be there; late:
        rank -> launches before this time are not recorded; copies: number of a second file of a rank -> that rank."""
        where = f"{self.name}, {story}"
        ran = program.run([self.binary, "analyze", *self.files(story, texts), "--report", "json", "--quiet"])
        if ran.code != 0:
            self.problems.append(f"{where}: exit code {ran.code}: {ran.err.decode(errors='replace')[:300]}")
            return
        report = json.loads(ran.out)
        told = {n["code"] for n in report["notes"]}
        reported = true = unsplit = 0
        for row in report["steps"]["rows"]:
            got = sum(ns for leaf, ns in row["partition"].items() if re.fullmatch(r"comm\.\w+\.wait", leaf))
            rank = (copies or {}).get(row["rank"], row["rank"])
            rows = self.waits.get(rank)
            if rows is None:
                self.problems.append(f"{where}: rank {row['rank']} was never recorded")
                continue
            window = windows(self.hosts[rank], (late or {}).get(rank, 0)).get(row["name"], (0, 1 << 62))
            most, count = true_wait(rows, *window)
            if got > most + count * CLOCK_NS:
                self.problems.append(f"{where}: rank {row['rank']} {row['name']}: {got} ns of waiting, it waited {most}")
            reported, true = reported + got, true + most
            unsplit += sum(ns for leaf, ns in row["partition"].items() if leaf.endswith(".unsplit"))
        if reported < least * true:
            self.problems.append(f"{where}: {reported} ns of waiting, the ranks waited {true}")
        if notes and not told & set(notes):
            self.problems.append(f"{where}: none of the notes {sorted(notes)} among {sorted(told)}")
        print(f"{where:62} waiting {reported / 1e6:8.2f} of {true / 1e6:8.2f} ms, not split {unsplit / 1e6:8.2f} ms; notes {' '.join(sorted(told))}")


def without_sequence(text):
    return re.sub(r', "Seq": \d+', "", text)


def from_step(host, text, step):
    """What a recording holds that starts with this step: what was launched before is not in it."""
    name = f'"ProfilerStep#{step + 3}"'
    head, rows = text.split('"traceEvents": [\n  ')
    rows = rows.rsplit("\n  ]", 1)[0].split(",\n  ")
    begin = next(float(re.search(r'"ts": ([\d.]+)', r).group(1)) for r in rows if name in r)
    kept = [r for r in rows if float(re.search(r'"ts": ([\d.]+)', r).group(1)) >= begin]
    return head + '"traceEvents": [\n  ' + ",\n  ".join(kept) + "\n  ]\n}\n"


def spoil(check):
    clean, world = check.texts(), len(check.hosts)
    check.hold("nothing is missing", clean, least=0.9)
    last = f"rank{world - 1}.json.gz"
    check.hold("one rank was not recorded", {n: t for n, t in clean.items() if n != last}, notes=("peers_missing", "unsplit_collectives"))
    check.hold("one rank alone", {"rank0.json.gz": clean["rank0.json.gz"]}, notes=("peers_missing", "unsplit_collectives"))
    shift = {r: r * 2_500_000_000 + r * 777 for r in range(world)}
    check.hold("clocks seconds apart", check.texts(shift), least=0.85)
    unnumbered = {n: without_sequence(t) for n, t in clean.items()}
    check.hold("no sequence numbers", unnumbered, least=0.9)
    far = {n: without_sequence(t) for n, t in check.texts(shift).items()}
    check.hold("no sequence numbers, clocks seconds apart", far)
    late = {1: next(r.begin for r in check.hosts[1].ranges if r.name == "ProfilerStep#5")}
    for words, texts in (("", clean), (", no sequence numbers", unnumbered)):
        later = {n: from_step(h, t, 2) if h.rank == 1 else t for h, (n, t) in zip(check.hosts, texts.items())}
        check.hold("one rank starts two steps later" + words, later, least=0.95, late=late)
    later = {n: from_step(h, t, 2) if h.rank == 1 else t for h, (n, t) in zip(check.hosts, far.items())}
    check.hold("later, not numbered, other clocks", later, least=0.95, late=late)
    text = clean["rank1.json.gz"]
    cut = {**clean, "rank1.json.gz": text[:len(text) * 6 // 10]}
    check.hold("one file ends early", cut, notes=("rank_left_out",))
    packed = gzip.compress(text.encode(), 1, mtime=0)
    check.hold("one compressed file ends early", {**clean, "rank1.json.gz": packed[:len(packed) * 6 // 10]}, notes=("rank_left_out",))
    broken = bytearray(packed)
    broken[len(broken) // 2:len(broken) // 2 + 64] = bytes(64)
    check.hold("one compressed file is corrupt", {**clean, "rank1.json.gz": bytes(broken)}, notes=("rank_left_out",))
    check.hold("one file is no trace", {**clean, "rank1.json.gz": b"\x1f\x8bnonsense"}, notes=("file_unreadable",))
    check.hold("one file ends before its events", {**clean, "rank1.json.gz": text[:100]}, notes=("file_unreadable",))
    check.hold("one file is empty", {**clean, "rank1.json.gz": b""}, notes=("file_unreadable",))
    check.hold("two files of one rank", {**clean, "again0.json.gz": clean["rank0.json.gz"]}, notes=("two_files_one_rank",), copies={world: 0})
    claims = clean["rank1.json.gz"].replace('"rank": 1,', '"rank": 0,')
    check.hold("two ranks claim one number", {"a.json.gz": clean["rank0.json.gz"], "b.json.gz": claims,
                                              **{f"rank{r}.json.gz": clean[f"rank{r}.json.gz"] for r in range(2, world)}})


def main():
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for name, setup in SETUPS.items():
            check = Check(sys.argv[1], name, setup, pathlib.Path(folder))
            spoil(check)
            problems += check.problems
    for p in problems[:40]:
        print(p)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
