#!/usr/bin/env python3
"""Random runs of several ranks against the Python reference: random_ranks.py WALLSIGHT SHARED_DIR [SETS [SEED]]

Every set is a folder of PyTorch traces, made here: named groups of several sizes, collectives of all types with and
without sequence numbers, work and pauses at random, lost records, clocks apart or not. Waiting, transfer and unsplit
time of every step must be the reference's integers. Where the reference misses the clocks that the set was made with
(lost records and clocks apart at once) only the clocks found by wallsight are held against the truth.
Exit 77 without SHARED_DIR.
"""
import json
import pathlib
import random
import sys
import tempfile

import oracle_check
import oracle_ranks_check

TYPES = [("allreduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"), ("_allgather_base", "ncclDevKernel_AllGather_RING_LL"),
         ("_reduce_scatter_base", "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"), ("all_to_all", "ncclDevKernel_SendRecv")]
DESCRIPTIONS = {"allreduce": "DATA_PARALLEL_GROUP", "_allgather_base": "TENSOR_MODEL_PARALLEL_GROUP",
                "_reduce_scatter_base": "DATA_PARALLEL_GROUP", "all_to_all": "EXPERT_MODEL_PARALLEL_GROUP"}
BASE_US = 4_000_000_000_000


class Rank:
    def __init__(self, number, skew_ns):
        self.number, self.skew, self.now, self.events, self.correlation = number, skew_ns, 1_000_000, [], 0

    def us(self, ns):
        ns += self.skew
        return f"{BASE_US + ns // 1000}.{ns % 1000:03d}"

    def add(self, cat, name, begin, end, tid, args):
        self.events.append(f'{{"ph":"X","cat":{json.dumps(cat)},"name":{json.dumps(name)},"pid":{0 if cat == "kernel" else 41},"tid":{tid},'
                           f'"ts":{self.us(begin)},"dur":{(end - begin) // 1000}.{(end - begin) % 1000:03d},"args":{json.dumps(args)}}}')

    def kernel(self, name, begin, end, stream, launch, extra=None):
        self.correlation += 1
        self.add("cuda_runtime", "cudaLaunchKernel", launch, launch + 900, 41, {"correlation": self.correlation})
        self.add("kernel", name, begin, end, stream, {"device": 0, "stream": stream, "correlation": self.correlation, **(extra or {})})


def play(rng, folder):
    count, steps = rng.choice([2, 3, 4, 6]), rng.randint(2, 4)
    skewed, numbered, lossy = rng.random() < 0.4, rng.random() < 0.5, rng.random() < 0.3
    ranks = [Rank(r, rng.randint(-5_000_000, 5_000_000) if skewed and r else 0) for r in range(count)]
    groups = [list(range(count))]
    if count >= 4:
        half = count // 2
        groups += [list(range(half)), list(range(half, count))]
    plan = [(rng.choice(TYPES), rng.randrange(len(groups))) for _ in range(rng.randint(2, 7))]
    plan[0] = (TYPES[0], 0)  # something that tells the clocks
    sequence = {}
    for step in range(steps):
        begins = [r.now for r in ranks]
        for (op, kernel), g in plan:
            members = [ranks[m] for m in groups[g]]
            sequence[(op, g)] = sequence.get((op, g), 0) + 1
            starts = []
            for r in members:
                if rng.random() < 0.15:
                    r.now += rng.randint(2_000, 400_000)  # the host is late
                length = rng.randint(5_000, 600_000)
                r.kernel("cutlass_gemm", r.now, r.now + length, 7, r.now - 1500)
                r.now += length
                starts.append(r.now + rng.choice([0, 0, 700, 3_000]))
            end = max(starts) + rng.randint(3_000, 300_000)
            for r, begin in zip(members, starts):
                if not (lossy and rng.random() < 0.06):
                    extra = {"Collective name": op, "Process Group Name": f"{g}{DESCRIPTIONS[op][:2]}", "Process Group Description": DESCRIPTIONS[op],
                             "Group size": len(members), "Process Group Ranks": str([m.number for m in members]).replace(" ", ""),
                             "In msg nelems": 1 << 18, "Out msg nelems": 1 << 18, "dtype": "BFloat16"}
                    if numbered:
                        extra["Seq"] = sequence[(op, g)]
                    r.kernel(kernel, begin, end, 20 + g, r.now - 2500, extra)
                if rng.random() < 0.3:
                    hidden = rng.randint(2_000, 200_000)
                    r.kernel("flash_fwd_kernel", r.now + 400, r.now + 400 + hidden, 7, r.now - 500)
                    r.now = max(end, r.now + 400 + hidden)
                else:
                    r.now = end
        for r, begin in zip(ranks, begins):
            r.add("user_annotation", f"ProfilerStep#{step}", begin - 3_000, r.now - 3_000, 41, {})
    for r in ranks:
        head = {"distributedInfo": {"backend": "nccl", "rank": r.number, "world_size": count}, "displayTimeUnit": "ms"}
        (folder / f"rank{r.number}.json").write_text(json.dumps(head)[:-1] + ',"traceEvents":[' + ",".join(r.events) + "]}")
    return [r.skew for r in ranks]


def main():
    binary, shared = sys.argv[1], pathlib.Path(sys.argv[2])
    sets, seed = int(sys.argv[3]) if len(sys.argv) > 3 else 60, int(sys.argv[4]) if len(sys.argv) > 4 else 1
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
    for i in range(sets):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            skews = play(random.Random(seed * 100_003 + i), folder)
            problems = oracle_ranks_check.check(binary, folder, load, core, xrank, dict(enumerate(skews)))
            bad += bool(problems)
            for p in problems[:3]:
                print(f"set {i}: {p}")
    print(f"{sets} sets of ranks, {bad} with differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
