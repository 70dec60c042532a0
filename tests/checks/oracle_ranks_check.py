#!/usr/bin/env python3
"""Waiting and transfer across ranks against the Python reference: oracle_ranks_check.py WALLSIGHT SHARED_DIR

Every set of ranks in SHARED_DIR (made cases, real recordings) is read by the reference's own loader, matched and put on
one clock by its own rules; the sums of waiting, transfer and unsplit communication of every step must be the same
integers, and so must the clock offsets. Not listed are sets in which wallsight knows more than the reference: receives
whose sender is not there (bounded by the shortest of their kind), streams without group names whose ends spread over
more than 20 us (the reference splits one group into several).
Exit 77 without SHARED_DIR.
"""
import pathlib
import re
import sys

import oracle_check
import program

SETS = """
cases/b02_gc_pause_v1 cases/b07_straggler_rank_v1 cases/b08_expert_imbalance_v1 cases/b09_exposed_a2a_v1
cases/b10_grad_reduce_tail_v1 cases/b14_healthy_v1 cases/b19_clock_skew_v1 cases/b24_exposed_not_blocking_v1
cases/b25_next_wall_v1/before cases/b25_next_wall_v1/after
""".split()


def parts(partition):
    out = {}
    for leaf, ns in partition.items():
        key = re.sub(r"^comm\.\w+\.", "comm.", leaf)
        if ns:
            out[key] = out.get(key, 0) + ns
    return out


def check(binary, folder, load, core, xrank, truth=None):
    """truth: offsets the set was made with, where they are known; a reference that misses them is not asked further."""
    files = sorted(p for p in folder.iterdir() if p.name.endswith((".json", ".json.gz")) and p.name != "expected.json")
    ran, report = program.analyze(binary, files, limit_s=300)
    if report is None:
        return [ran.err.decode(errors="replace")]
    paths = {s["path"]: s for s in report["run"]["sources"]}
    by_rank = {}
    for path in files:
        one = program.analyze(binary, [path], limit_s=300)[1]
        by_rank[one["ranks"][0]["rank"]] = path
    limits = {(r["rank"], r["device"]): (r["launch_latency_ns"], r["kernel_gap_ns"]) for r in report["ranks"]}
    traces = {rank: oracle_check.load_trace(path, report, load, core, rank) for rank, path in by_rank.items()}
    load.finish(traces)
    arrivals, offsets, _ = xrank.arrivals(traces)
    problems = []
    if truth is not None and any(offsets[r] != truth[r] for r in truth):
        return [f"rank {row['rank']}: clock offset {row['clock_offset_ns']}, made with {truth[row['rank']]}" for row in report["ranks"]
                if row["clock_offset_ns"] is not None and row["clock_offset_ns"] != truth[row["rank"]]]
    for row in report["ranks"]:
        if row["clock_offset_ns"] is not None and row["clock_offset_ns"] != offsets[row["rank"]]:
            problems.append(f"rank {row['rank']}: clock offset {row['clock_offset_ns']}, reference {offsets[row['rank']]}")
    for row in report["steps"]["rows"]:
        rank, device = row["rank"], row["device"]
        p = core.Partitioner(traces[rank], rank, device, core.Params(*limits[(rank, device)]), arrivals[rank])
        mine, theirs = parts(row["partition"]), parts(p.partition(row["begin_ns"], row["end_ns"]))
        if mine != theirs:
            differing = {k: (mine.get(k, 0), theirs.get(k, 0)) for k in sorted(set(mine) | set(theirs)) if mine.get(k) != theirs.get(k)}
            problems.append(f"rank {rank} {row['name']}: (wallsight, reference) {differing}")
    return problems if paths else ["no sources"]


def main():
    binary, shared = sys.argv[1], pathlib.Path(sys.argv[2])
    if not (shared / "oracle" / "xrank.py").exists():
        print(f"{shared}/oracle is not here: skipped")
        return 77
    sys.path.insert(0, str(shared / "oracle"))
    sys.dont_write_bytecode = True
    import core
    import load
    import xrank
    oracle_check.ORIGINAL.update(classify=load.classify, api_class=core.api_class)
    bad = 0
    for name in sys.argv[3:] or SETS:
        problems = check(binary, shared / name, load, core, xrank)
        bad += bool(problems)
        print(f"{'differs' if problems else 'equal':8} {name}", flush=True)
        for p in problems[:6]:
            print(f"    {p}")
    print(f"{bad} sets with differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
