#!/usr/bin/env python3
"""Whole-recording sums of every report equal plain interval arithmetic: interval_arithmetic.py WALLSIGHT FILE_OR_FOLDER...

Per device with --step-window whole: span, compute, exposed communication, exposed copies and idle, == in ns. The only thing
taken from the report are the classes of kernel names (kernels[]); records, times and unions are our own (traces.py,
intervals.py). Where communication and copies are exposed at the same instant, which of the two is charged is a rule of
the partition, not of interval arithmetic: there their sum must be equal and each must lie in its bounds.
"""
import pathlib
import re
import sys
from collections import defaultdict

import intervals as iv
import program
import traces

COPIES = {"h2d", "d2h"}


def printable(name):
    """A name as reports show it: one line, single blanks, other control characters as '?', at most 400 characters."""
    text = re.sub(r"[\n\t\r ]+", " ", name.replace("\0", ""))
    text = re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", text)
    return text if len(text) <= 400 else text[:397] + "..."


def cleaned(ops):
    """What remains after the hygiene of ALGORITHMS 1: no time, no record; a kernel does not outlast its successor."""
    seen, kept = set(), []
    for op in sorted(ops, key=lambda o: (o.begin, o.end)):
        key = (op.begin, op.end, op.kind, op.name, op.stream, op.correlation)
        if op.end <= op.begin or (op.begin == 0 and op.end == 0) or key in seen:
            continue
        seen.add(key)
        kept.append(op)
    return kept


def of_device(ops, classes):
    """The five sums, and the exposed bounds of communication and copies."""
    by = defaultdict(list)
    for op in ops:
        cls = op.kind
        if cls == "kernel":
            cls = classes.get(printable(op.name), "?" + op.name)
        part = "copy" if cls in COPIES else "comm" if cls in ("comm", "p2p") else "compute"
        if cls.startswith("?"):
            raise KeyError(f"kernel not in kernels[]: {op.name[:90]!r}")
        by[part].append((op.begin, op.end))
    compute, comm, copy = (iv.union(by[p]) for p in ("compute", "comm", "copy"))
    begin, end = min(o.begin for o in ops), max(o.end for o in ops)
    both = iv.length(iv.minus(iv.union(comm + copy), compute))
    high = {"comm": iv.length(iv.minus(comm, compute)), "copy": iv.length(iv.minus(copy, compute))}
    busy = iv.length(iv.union(compute + comm + copy))
    return {"wall": end - begin, "compute": iv.length(compute), "comm_and_copy": both, "idle": end - begin - busy,
            "comm": (both - high["copy"], high["comm"]), "copy": (both - high["comm"], high["copy"])}


def differences(mine, row):
    got = program.sums(row["partition"])
    out = [f"{k}: expected {mine[k]}, report {got[k]}" for k in ("wall", "compute", "idle") if mine[k] != got[k]]
    if mine["comm_and_copy"] != got["comm"] + got["copy"]:
        out.append(f"exposed comm + copies: expected {mine['comm_and_copy']}, report {got['comm'] + got['copy']}")
    out += [f"exposed {k}: expected {mine[k][0]}..{mine[k][1]}, report {got[k]}"
            for k in ("comm", "copy") if not mine[k][0] <= got[k] <= mine[k][1]]
    if row["end_ns"] - row["begin_ns"] != got["wall"]:
        out.append(f"window of {row['end_ns'] - row['begin_ns']} ns, partition of {got['wall']}")
    return out


def check(binary, path):
    """(verdict word, problems) of one file."""
    ran, report = program.analyze(binary, [path], "--step-window", "whole", limit_s=300)
    if report is None:
        return f"refused ({ran.code})", [] if ran.code == 2 else [f"exit code {ran.code}: {ran.err.decode(errors='replace')[:200]}"]
    rows = sorted(report["steps"]["rows"], key=lambda r: (r["rank"], r["device"]))
    devices = {}
    for key, ops in traces.read(path).items():
        ops = cleaned(ops)
        if ops:
            devices[key] = ops
    if len(rows) != len(devices):  # processes that share a GPU are one rank
        merged = defaultdict(list)
        for (_, device), ops in devices.items():
            merged[(0, device)] += ops
        devices = merged
    if len(rows) != len(devices):
        return "compared", [f"{len(devices)} devices, {len(rows)} rows"]
    classes = {k["name"]: k["class"] for k in report["kernels"]}
    expected = [(key, of_device(ops, classes)) for key, ops in sorted(devices.items(), key=lambda d: tuple(map(str, d[0])))]
    problems = []
    for (key, mine), row in zip(expected, rows):
        problems += [f"rank {row['rank']} device {row['device']}: {d}" for d in differences(mine, row)]
    return f"equal, {len(rows)} device(s)" if not problems else "compared", problems


def files_of(arguments):
    for argument in map(pathlib.Path, arguments):
        if argument.is_dir():
            yield from sorted(p for p in argument.rglob("*") if p.suffix in (".sqlite", ".db", ".json", ".gz") and p.is_file())
        elif argument.exists():
            yield argument


def main():
    binary, places = sys.argv[1], sys.argv[2:]
    compared = bad = 0
    for path in program.share(files_of(places)):
        try:
            word, problems = check(binary, path)
        except (KeyError, ValueError, OSError) as e:
            word, problems = "not compared", [str(e)]
        compared += word.startswith("equal")
        bad += bool(problems)
        print(f"{word:22} {path}")
        for p in problems:
            print(f"    {p}")
    print(f"{compared} files equal, {bad} with differences")
    if compared == 0 and bad == 0:
        return 77
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
