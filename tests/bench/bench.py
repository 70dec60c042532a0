#!/usr/bin/env python3
"""`make bench`: wallsight against the floor programs, same files, same run, turn by turn.

Prints one table row per work: seconds of `wallsight analyze --no-what-if` and of the floor (medians of RUNS), their
ratio against the budget, peak memory, and how time grows from 1M to 5M events. The files are made once in
build/bench/data. Where ../shared/bench stands beside the checkout its generator and floor are built and measured too;
the budgets are stated for those. --quick: a tenth of the size, 3 runs. Exit 1 when a budget is missed (not with --quick).
"""
import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def measured(command):
    """(seconds, peak MB) of one run; stops the bench when the command fails."""
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=dict(os.environ, K="1"))
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))}: exit code {child.returncode}")
    return time.monotonic() - began, usage.ru_maxrss / 1024


def make(command, path):
    if not path.exists():
        part = path.with_name("making." + path.name)
        subprocess.run([*command, part], check=True, stdout=subprocess.DEVNULL)
        part.rename(path)


def reference_programs(sources, data):
    """Builds the reference generator and floor into data; None when they are not there or do not build."""
    if not (sources / "floor.cpp").exists():
        return None
    for name in ("gen_traces", "floor"):
        if (data / name).exists():
            continue
        built = subprocess.run(["g++", "-O3", "-march=native", "-std=c++17", "-w", sources / f"{name}.cpp", "-o", data / name,
                                "-lsimdjson", "-lz", "-ldeflate", "-lisal", "-lsqlite3", "-lpthread"], stderr=subprocess.PIPE)
        if built.returncode != 0:
            print(f"bench: {sources}/{name}.cpp does not build here (libdeflate-dev?): left out", file=sys.stderr)
            return None
    return data / "gen_traces", data / "floor"


def works(tools, data, scale, reference):
    """(title, file, floor command, ratio budget or None, MB budget or None)."""
    million = 1_000_000 // scale
    out = []
    for millions, budget, memory in ((1, 1.5, 250), (5, None, None)):
        path = data / f"own_{millions * million}.json.gz"
        make([tools / "make_big", "kineto", str(millions * million)], path)
        out.append((f"own: Kineto, {millions * million:,} events", path, [tools / "floor", "kineto", path], budget, memory))
    path = data / f"own_{5 * million}.sqlite"
    make([tools / "make_big", "nsys", str(5 * million)], path)
    out.append((f"own: nsys, {5 * million:,} kernels", path, [tools / "floor", "nsys", path], 1.3, 1024))
    programs = reference_programs(reference, data)
    if programs:
        generate, floor = programs
        for millions, budget, memory in ((1, 1.5, 250), (5, None, None)):
            plain, path = data / f"ref_{millions * million}.json", data / f"ref_{millions * million}.json.gz"
            if not path.exists():
                subprocess.run([generate, "kineto", str(millions * million), plain], check=True, stdout=subprocess.DEVNULL)
                subprocess.run(["gzip", "-n", "-6", plain], check=True)
            out.append((f"reference: Kineto, {millions * million:,} events", path, [floor, "e2e_kineto", path], budget, memory))
        path = data / f"ref_{5 * million}.sqlite"
        if not path.exists():
            subprocess.run([generate, "nsys", str(5 * million), path], check=True, stdout=subprocess.DEVNULL)
        out.append((f"reference: nsys, {5 * million:,} kernels", path, [floor, "e2e_nsys", path], 1.3, 1024))
    return out


def recorder(tools):
    """Prints what recording costs a job; returns what misses its budget."""
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        rows = subprocess.run([tools / "recorder_bench", folder], capture_output=True, text=True, check=True).stdout
    print("\n| recorder | value | budget |\n|---|---|---|")
    for what, value, budget in (line.split("\t") for line in rows.splitlines()):
        print(f"| {what} | {value} | {budget} |")
        if budget != "-" and float(value) > float(budget):
            missed.append(f"{what}: {value}, budget {budget}")
    return missed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wallsight", type=pathlib.Path, required=True)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--reference", type=pathlib.Path, default=ROOT / ".." / "shared" / "bench")
    args = parser.parse_args()
    runs, scale = (3, 10) if args.quick else (args.runs, 1)
    data = args.tools.parent / "data"
    data.mkdir(exist_ok=True)
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    print(f"{os.cpu_count()} x {model}, load {os.getloadavg()[0]:.1f}, medians of {runs}\n")
    print("| work | wallsight s | floor s | ratio | budget | peak MB | budget | min..max s |\n|---|---|---|---|---|---|---|---|")
    missed, seconds = [], {}
    for title, path, floor, ratio_budget, memory_budget in works(args.tools, data, scale, args.reference):
        ours, theirs, peak = [], [], 0
        for _ in range(runs):
            took, memory = measured([args.wallsight, "analyze", path, "--no-what-if"])
            ours.append(took)
            peak = max(peak, memory)
            theirs.append(measured(floor)[0])
        ratio = statistics.median(ours) / statistics.median(theirs)
        seconds[title] = statistics.median(ours)
        if ratio_budget and ratio > ratio_budget:
            missed.append(f"{title}: {ratio:.2f} times the floor, budget {ratio_budget}")
        if memory_budget and peak > memory_budget:
            missed.append(f"{title}: {peak:.0f} MB, budget {memory_budget}")
        print(f"| {title} | {seconds[title]:.2f} | {statistics.median(theirs):.2f} | {ratio:.2f} | {ratio_budget or '-'} | {peak:.0f} | "
              f"{memory_budget or '-'} | {min(ours):.2f}..{max(ours):.2f} |", flush=True)
    kineto = [t for t in seconds if "Kineto" in t]
    for small, large in zip(kineto[::2], kineto[1::2]):
        growth = seconds[large] / seconds[small]
        print(f"\n{large.split(':')[0]}: 5 times the Kineto events take {growth:.2f} times as long (budget 5.5)")
        if growth > 5.5:
            missed.append(f"{large}: {growth:.2f} times the time of a fifth, budget 5.5")
    missed += recorder(args.tools)
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed and not args.quick else 0


sys.exit(main())
