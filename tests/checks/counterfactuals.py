#!/usr/bin/env python3
"""Predicted gains against a simulated truth: counterfactuals.py WALLSIGHT [RUNS [SEED [NUMBER]]]

Simulates RUNS training runs (simulator/), lets wallsight price every change it offers, simulates each run again with
the bottleneck really removed and compares step times. A prediction is the interval of `what_if`: its middle may miss
the truth by 5 % of the truth, and of enough intervals nine in ten must contain it. Prints a table per id; exit 1 when
one misses.
NUMBER: only that run, with everything said about it.
"""
import json
import pathlib
import random
import sys
import tempfile
from collections import defaultdict

import program
from simulator import fixes, kineto, setups, training

LIMIT = 0.05
INSIDE, ENOUGH = 0.9, 10
# Changes of less than this are no bottleneck of the run; wallsight may leave them out.
NOTHING = 0.02
# An interval contains what it misses by no more than this: the report rounds shares, and noise is not a bottleneck.
NEAR = 0.005
COMBINATIONS = ("launch_zero+sync_zero", "dataload_zero+ep_zero", "straggler_fixed+dp_zero", "recompute_zero+alloc_zero",
                "gemm_x2+ep_zero", "dataload_zero+sync_zero", "gc_zero+dp_overlapped", "network_x2+gemm_x2")


class Row:
    def __init__(self, where, step, truth, lo, hi):
        self.where, self.base, self.truth, self.lo, self.hi = where, step, truth, lo, hi
        self.middle = ((lo + hi) / 2 - truth) / truth
        self.inside = lo - NEAR * truth <= truth <= hi + NEAR * truth
        self.outside = 0.0 if lo <= truth <= hi else min(abs(lo - truth), abs(hi - truth)) / truth
        self.width = (hi - lo) / truth


def truths(setup, base, ids):
    """What the step really takes with each change; no need to simulate what changes nothing."""
    return {i: training.step_ns(training.simulate(setup, fixes.parts(i))) if fixes.concerns(setup, i) else base for i in ids}


def one_run(binary, number, seed, rows, problems, loud):
    name, setup = setups.draw(number, seed)
    where = f"run {number} ({name}, {setup.world} ranks)"
    hosts = training.simulate(setup)
    base = training.step_ns(hosts)
    r = random.Random(number)
    wanted = r.sample(COMBINATIONS, 2)
    with tempfile.TemporaryDirectory() as folder:
        files = kineto.write(hosts, pathlib.Path(folder), setup.sync_rows)
        flags = [f for c in wanted for f in ("--what-if", c)]
        ran = program.run([binary, "analyze", *files, "--report", "json", "--quiet", *flags])
        if ran.code != 0:
            problems.append(f"{where}: exit code {ran.code}: {ran.err.decode(errors='replace')[:300]}")
            return
    report = json.loads(ran.out)
    step = report["partition"]["total_ns"] / max(1, len([1 for s in report["steps"]["rows"] if s["steady"]]))
    if report["steps"]["rows"] and report["steps"]["count"]:
        steady = [s for s in report["steps"]["rows"] if s["steady"]]
        step = sum(s["end_ns"] - s["begin_ns"] for s in steady) / max(1, len(steady))
    if abs(step - base) > 0.02 * base:
        problems.append(f"{where}: steps of {step:.0f} ns, simulated {base:.0f}")
    priced = {w["id"]: w for w in report["what_if"]}
    if not priced:
        problems.append(f"{where}: no change is priced: {[n['text'] for n in report['notes'] if 'what_if' in n['code']]}")
        return
    asked = {i for i in {*priced, *ALL_IDS} if fixes.defined(setup, i)}
    truth = truths(setup, base, sorted(asked))
    if loud:
        print(where, setup)
        print(f"step {base / 1e6:.3f} ms, reported {step / 1e6:.3f} ms, verdict {report['verdict']['kind']} {report['verdict']['cause']}")
    for i in sorted(truth):
        gain = (base - truth[i]) / base
        if i not in priced:
            if gain > NOTHING:
                rows[i].append(Row(where, base, truth[i], base, base))
                if loud:
                    print(f"  {i:28} NOT OFFERED, true gain {gain:.1%}")
            continue
        w = priced[i]
        # Against the simulated step: the interval's shares are what is predicted.
        row = Row(where, base, truth[i], base * (1 - w["saved_hi_share"]), base * (1 - w["saved_lo_share"]))
        rows[i].append(row)
        if loud:
            print(f"  {i:28} truth {truth[i] / 1e6:8.3f} ({gain:6.1%})  predicted {row.lo / 1e6:8.3f} to {row.hi / 1e6:8.3f}  middle "
                  f"{row.middle:+6.1%} outside {row.outside:5.1%}{'   <<<' if abs(row.middle) > LIMIT else ''}")


ALL_IDS = ("ep_zero", "ep_removed", "tp_zero", "tp_removed", "dp_zero", "dp_removed", "pp_zero", "pp_removed", "cp_zero", "cp_removed",
           "network_x2", "launch_zero", "sync_zero", "dataload_zero", "alloc_zero", "gc_zero", "recompute_zero", "offload_zero", "copy_zero",
           "straggler_fixed", "experts_balanced", "dp_overlapped", "bubble_halved", "gemm_x2", "attention_x2", "membound_x2")


def table(rows, problems):
    print(f"{'what if':30} runs  bottleneck  worst  median  outside  inside  width")
    for i in sorted(rows, key=lambda i: ("+" in i, i)):
        seen = rows[i]
        off = sorted(abs(x.middle) for x in seen)
        worst = max(seen, key=lambda x: abs(x.middle))
        real = [x for x in seen if x.base - x.truth > NOTHING * x.base]
        inside = sum(x.inside for x in seen) / len(seen)
        print(f"{i:30} {len(seen):4}  {len(real):10} {off[-1]:6.1%} {off[len(off) // 2]:7.1%} {max(x.outside for x in seen):8.1%} "
              f"{inside:7.0%} {sum(x.width for x in seen) / len(seen):6.1%}   worst: {worst.where}")
        bad = [x for x in seen if abs(x.middle) > LIMIT]
        if bad:
            problems.append(f"{i}: {len(bad)} of {len(seen)} predictions are off by more than {LIMIT:.0%}, worst {worst.middle:+.1%}: {worst.where}")
        if inside < INSIDE and len(seen) >= ENOUGH:
            problems.append(f"{i}: {inside:.0%} of {len(seen)} intervals contain the truth, {INSIDE:.0%} must; {next(x.where for x in seen if not x.inside)}")


def main():
    binary = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 2 * len(setups.FAMILIES)
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    only = int(sys.argv[4]) if len(sys.argv) > 4 else None
    rows, problems = defaultdict(list), []
    for number in range(runs) if only is None else [only]:
        one_run(binary, number, seed, rows, problems, only is not None)
    table(rows, problems)
    for p in problems:
        print(p)
    return 1 if problems or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
