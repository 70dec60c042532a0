#!/usr/bin/env python3
"""Partitions of real recordings against the Python reference: oracle_check.py WALLSIGHT SHARED_DIR [FILE...]

The reference (SHARED_DIR/oracle) reads the file with its own loader; it is given the classes of kernel names and the
constants Lambda and kappa that wallsight reports, and the same windows, and must give the same integers leaf by leaf.
Communication is compared as a whole: naming the parallel dimension of a communicator is not the partition's matter.
Exit 77 without SHARED_DIR.
"""
import pathlib
import re
import sqlite3
import sys

import program
from interval_arithmetic import printable

ORIGINAL = {}  # functions of the reference that are wrapped
FILES = """
kineto/hta_critical_path_alexnet.json.gz kineto/hta_cuda_event_sync.json.gz kineto/hta_nccl_meta_a100_ws2.json.gz
kineto/hta_trace_compare_base.json.gz kineto/hta_trace_compare_test.json.gz kineto/hta_triton_example.json.gz
kineto/param_resnet.json.gz kineto/tracelens_h100_qwen1.5.json.gz kineto/tracelens_h100_vit.json.gz
kineto/tracelens_torch_compile_triton.json.gz kineto/tracelens_norm_layers_mi300.json.gz
nsys/nsys2022.1.3_dlprof_rtx2070.sqlite nsys/nsys2024.6.2_a100_llm_train.sqlite nsys/nsys2025.1.3_3070ti_llm.sqlite
nsys/nsys2026.1.1_3080_mock.sqlite nsys/nsys2026.1.1_4060ti_a.sqlite nsys/nsys2026.3.1_a100_llm_bwd.sqlite
nsys/nsys2026.3.1_a100_llm_fwd.sqlite nsys/nsys2023.1.2_4x3090_nvtx.sqlite nsys/nsys2024.6.2_h200_fuser.sqlite
""".split()


def merged(partition):
    """Leaves with time; communication as one."""
    out = {}
    for leaf, ns in partition.items():
        key = re.sub(r"^comm\..*", "comm", leaf)
        if ns:
            out[key] = out.get(key, 0) + ns
    return out


# What host ranges and calls mean. The reference's own loader knows few names (they are data of the product, it says), so
# it is given these; they are written from ALGORITHMS 3.3, not from the product's tables.
OVERHEAD_TYPES = {1 << 16: "jit", 6 << 16: "jit", 7 << 16: "jit", 2: "jit", 6: "jit", 7: "jit", 8: "other"}
RECORDER_JIT = re.compile(r"module loading|lazy function loading|driver (compiler|jit)", re.I)
LOADING = re.compile(r"data[_ ]?load|next_batch|get_batch|load_batch|wait_for_batch|batch-generator", re.I)
COLLECTING = re.compile(r"(gc|gc\.collect|python gc|<built-in function collect>)$|.*garbage collect|gc\.py: collect|gc\.py\(.*collect", re.I)
BUILDING = re.compile(r"cumoduleload|module loading|lazy[_ ]load|lazy function loading|autotune|driver jit|jit compil|compile(?!d|r|_wr)", re.I)


def host_range_kind(name, step_re):
    if step_re.match(name.strip()):
        return "step"
    if LOADING.search(name):
        return "dataload"
    if COLLECTING.match(name):
        return "gc"
    if name.startswith("<built-in"):  # Python's own compile makes no device code
        return "other"
    function = name.rsplit("): ", 1)[-1]
    return "jit" if BUILDING.search(function) else "other"


def call_class(name, theirs):
    if name.startswith(("cudaLibraryLoad", "hiprtc")):
        return "jit"
    if not name.startswith("hip"):
        return theirs(name)
    rest = name[3:]
    if re.match(r"(Ext|Hcc)?(Module)?Launch", rest):
        return "launch"
    if rest == "MemcpyWithStream":
        return "sync"
    if re.match(r"Host(Malloc|Free|Alloc|Register)|ExtMalloc", rest):
        return "alloc"
    found = theirs("cuda" + rest)
    return found if found != "other" else theirs("cu" + rest)


def nsys_overhead(path, core):
    """The recorder's own rows, which the reference does not read."""
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    names = dict(db.execute("SELECT id, value FROM StringIds"))
    for table in ("PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"):
        have = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        if not have:
            continue
        kind = "overheadType" if "overheadType" in have else "NULL"
        for begin, end, tid, name, what in db.execute(f"SELECT start, end, globalTid, nameId, {kind} FROM {table}"):
            text = names.get(name, "")
            meaning = OVERHEAD_TYPES.get(what) or ("jit" if RECORDER_JIT.search(text) else "profiler")
            if "command buffer full" in text.lower():
                meaning = "other"
            yield core.Range(tid & 0xFFFFFF, begin, end, meaning, 0, tid >> 24 & 0xFFFFFF, text)


def load_trace(path, report, load, core, rank=0):
    """The file through the reference's loader, with the names of the product."""
    classes = {k["name"]: k["class"] for k in report["kernels"]}

    def classify(name):
        cls, collective = ORIGINAL["classify"](name)
        known = classes.get(printable(name), cls)
        return known, collective if known == "comm" else ""

    load.classify = classify
    load.range_kind = lambda name: host_range_kind(name, load.STEP_RE)
    core.api_class = lambda name: call_class(name, ORIGINAL["api_class"])
    trace = (load.nsys if path.suffix == ".sqlite" else load.kineto)(str(path), rank)
    if path.suffix == ".sqlite":
        trace.ranges += nsys_overhead(path, core)
    for r in trace.ranges:
        if r.kind == "profiler" and path.suffix != ".sqlite":
            r.kind = "jit" if RECORDER_JIT.search(r.name) else "other" if "command buffer full" in r.name.lower() else "profiler"
    return trace


def reference(path, report, load, core, limits):
    """(row, reference partition) per step row."""
    trace = load_trace(path, report, load, core)
    load.finish({0: trace})
    partitioners = {}
    for row in report["steps"]["rows"]:
        device = row["device"]
        if device not in partitioners:
            partitioners[device] = core.Partitioner(trace, 0, device, core.Params(*limits[(row["rank"], device)]))
        yield row, partitioners[device].partition(row["begin_ns"], row["end_ns"])


def check(binary, path, load, core):
    ran, report = program.analyze(binary, [path], limit_s=300)
    if report is None:
        return "refused", [ran.err.decode(errors="replace")]
    limits = {(r["rank"], r["device"]): (r["launch_latency_ns"], r["kernel_gap_ns"]) for r in report["ranks"]}
    if len({r["rank"] for r in report["steps"]["rows"]}) > 1:
        return "several ranks", []
    problems, rows = [], 0
    for row, expected in reference(path, report, load, core, limits):
        rows += 1
        mine, theirs = merged(row["partition"]), merged(expected)
        if mine != theirs:
            differing = {k: (mine.get(k, 0), theirs.get(k, 0)) for k in sorted(set(mine) | set(theirs)) if mine.get(k) != theirs.get(k)}
            problems.append(f"{row['name']} device {row['device']}: (wallsight, reference) {differing}")
    return f"equal, {rows} rows" if not problems else f"{len(problems)} of {rows} rows differ", problems


def main():
    binary, shared = sys.argv[1], pathlib.Path(sys.argv[2])
    if not (shared / "oracle" / "core.py").exists():
        print(f"{shared}/oracle is not here: skipped")
        return 77
    sys.path.insert(0, str(shared / "oracle"))
    sys.dont_write_bytecode = True
    import core
    import load
    ORIGINAL.update(classify=load.classify, api_class=core.api_class)
    names = sys.argv[3:] or [shared / "data" / "open" / f for f in FILES]
    equal = bad = 0
    for path in map(pathlib.Path, names):
        if not path.exists():
            continue
        word, problems = check(binary, path, load, core)
        equal += word.startswith("equal")
        bad += bool(problems)
        print(f"{word:24} {path.name}", flush=True)
        for p in problems[:4]:
            print(f"    {p}")
    print(f"{equal} files equal, {bad} with differences")
    return 1 if bad or equal < min(12, len(names)) else 0


if __name__ == "__main__":
    sys.exit(main())
