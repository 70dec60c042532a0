#!/usr/bin/env python3
"""Time and memory of one analysis over many ranks: many_ranks.py WALLSIGHT [RANKS [EVENTS [FOLDER]]]

Writes RANKS (64) PyTorch traces of EVENTS (100000) events each, whose collectives match, and analyzes a quarter, a half
and all of them, with one and with eight ranks in flight. Exit 1 when the time grows faster than the ranks, when the
peak is over 1 GB, when the two thread counts give different bytes, or when the ranks were not joined.

The files share their body: a .gz file may consist of several members, so what all ranks have in common is compressed
once, and only what makes a rank late is written per rank.
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

STEPS, PID, BASE_NS = 6, 4100, 1_764_000_000_000_000_000
KERNELS = ("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NTN", "triton_poi_fused_mul_silu_0",
           "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0",
           "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<Kernel_traits>(Params)")
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
KERNEL_NS, GAP_NS, TRANSFER_NS, EACH = 30_000, 1_000, 60_000, 20  # a collective after so many kernels
MOST_PEAK_MB, MOST_GROWTH = 1024, 1.15


class Body:
    """Rows of all ranks; correlation ids, streams and the collectives' sequence numbers go on through the file."""

    def __init__(self, ranks):
        self.members, self.correlation, self.sequence = list(range(ranks)), 1000, 0
        self.host = self.device = 1_000_000

    def row(self, name, category, begin, ns, pid, tid, args):
        return (f'{{"ph": "X", "cat": "{category}", "name": {json.dumps(name)}, "pid": {pid}, "tid": {tid}, '
                f'"ts": {begin // 1000}.{begin % 1000:03d}, "dur": {ns // 1000}.{ns % 1000:03d}, "args": {{{args}}}}}')

    def op(self, name, begin, ns, stream, more=""):
        self.correlation += 1
        c = self.correlation
        h, self.host = self.host, self.host + 12_000
        return [self.row("aten::op", "cpu_op", h, 9_000, PID, PID, f'"External id": {c}'),
                self.row("cudaLaunchKernel", "cuda_runtime", h + 3_000, 4_200, PID, PID, f'"External id": {c}, "cbid": 211, "correlation": {c}'),
                self.row(name, "kernel", begin, ns, 0, stream,
                         f'"External id": {c}, "device": 0, "context": 1, "stream": {stream}, "correlation": {c}, "queued": 0, '
                         f'"grid": [132, 1, 1], "block": [384, 1, 1]{more}')]

    def collective(self, begin, ns):
        self.sequence += 1
        more = (f', "Collective name": "allreduce", "In msg nelems": 16777216, "Out msg nelems": 16777216, "Group size": {len(self.members)}, '
                f'"dtype": "BFloat16", "Process Group Name": "1", "Process Group Description": "DATA_PARALLEL_GROUP", '
                f'"Process Group Ranks": "{self.members}", "Seq": {self.sequence}')
        return self.op(REDUCE, begin, ns, 20, more)

    def stretch(self, kernels):
        """Kernels with a collective after every EACH, at the same time on all ranks."""
        rows = []
        for i in range(kernels):
            if i % EACH == EACH - 1:
                rows += self.collective(self.device, TRANSFER_NS)
                self.device += TRANSFER_NS + GAP_NS
            else:
                rows += self.op(KERNELS[i % len(KERNELS)], self.device, KERNEL_NS, 7)
                self.device += KERNEL_NS + GAP_NS
        return rows

    def late(self, rank, step):
        """One kernel and the collective after it: rank and step decide how long the others wait."""
        slow = KERNEL_NS + (rank * 7 + step * 3) % len(self.members) * 2_000
        meets = self.device + KERNEL_NS + len(self.members) * 2_000 + GAP_NS
        rows = self.op(KERNELS[0], self.device, slow, 7)
        begin = self.device + slow + GAP_NS
        return rows + self.collective(begin, meets + TRANSFER_NS - begin), meets + TRANSFER_NS + GAP_NS


def pack(rows):
    return gzip.compress(("," .join("\n" + r for r in rows) + ",").encode(), 1, mtime=0)


def head(rank, ranks):
    info = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_029_158_912}],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}, "displayTimeUnit": "ms",
            "baseTimeNanoseconds": BASE_NS + rank * 1_000_000}
    return json.dumps(info)[:-1] + ', "traceEvents": ['


def write(folder, ranks, events):
    """The files, each of about `events` events."""
    body, kernels = Body(ranks), events // STEPS // 3 - 2
    files = [open(folder / f"rank{r:03d}.json.gz", "wb") for r in range(ranks)]
    for r, f in enumerate(files):
        f.write(gzip.compress(head(r, ranks).encode(), 1, mtime=0))
    for step in range(STEPS):
        begin = body.host
        saved = body.correlation, body.sequence, body.host
        for r, f in enumerate(files):
            body.correlation, body.sequence, body.host = saved
            rows, after = body.late(r, step)
            f.write(pack(rows))
        body.device = after
        rows = body.stretch(kernels)
        rows.append(body.row(f"ProfilerStep#{step}", "user_annotation", begin, body.host - begin, PID, PID, ""))
        shared = pack(rows)
        for f in files:
            f.write(shared)
    end = gzip.compress(b'\n{"ph": "M", "name": "process_name", "pid": 4100, "tid": 0, "ts": 0, "args": {"name": "python"}}]}', 1, mtime=0)
    for f in files:
        f.write(end)
        f.close()
    return [f.name for f in files]


def measure(command):
    """(seconds of CPU, seconds, peak in MB, output) of one run."""
    with tempfile.TemporaryFile() as out:
        began = time.monotonic()
        child = subprocess.Popen(command, stdout=out, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"exit code {child.returncode}: {' '.join(command[:6])} ...")
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, seconds, usage.ru_maxrss / 1024, out.read()


def check_join(report):
    """Waiting is known, and it is what the late kernels make it."""
    mean = report["partition"]["mean_per_step"]
    wait, unsplit = mean.get("comm.dp.wait", 0), mean.get("comm.dp.unsplit", 0)
    return [] if wait > 0 and unsplit == 0 else [f"the ranks were not joined: wait {wait} ns, not split {unsplit} ns a step"]


def main():
    binary, ranks = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 64
    events = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
    problems, cpu, reports = [], {}, {}
    with tempfile.TemporaryDirectory(dir=sys.argv[4] if len(sys.argv) > 4 else None) as folder:
        print("ranks threads what-if   CPU s  wall s  peak MB")
        for n in (ranks // 4, ranks // 2, ranks):
            (pathlib.Path(folder) / str(n)).mkdir()
            files = write(pathlib.Path(folder) / str(n), n, events)
            for threads, gains in ((1, False), (1, True), (8, True)):
                command = [binary, "analyze", *files, "--report", "json", "--quiet", "--threads", str(threads)]
                seconds, wall, peak, out = measure(command + ([] if gains else ["--no-what-if"]))
                print(f"{n:5} {threads:7} {'yes' if gains else 'no':>7} {seconds:7.2f} {wall:7.2f} {peak:8.0f}", flush=True)
                if peak > MOST_PEAK_MB:
                    problems.append(f"{n} ranks, {threads} threads: peak {peak:.0f} MB")
                if gains and reports.setdefault(n, out) != out:
                    problems.append(f"{n} ranks: one and eight threads give different bytes")
                if threads == 1:
                    cpu[n, gains] = seconds
            problems += check_join(json.loads(reports[n]))
            for f in files:
                os.remove(f)
        for gains in (False, True):
            growth = cpu[ranks, gains] / cpu[ranks // 4, gains] / 4
            print(f"time over ranks, {'with' if gains else 'without'} what-ifs: {ranks} ranks take {growth:.2f} x what a quarter would suggest")
            if growth > MOST_GROWTH:
                problems.append(f"the time grows faster than the ranks: {growth:.2f}")
    for p in problems:
        print(p)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
