#!/usr/bin/env python3
"""What must not change the cause, and what must: metamorphic.py WALLSIGHT CASES_FOLDER [NAME...]

For every kind B case that has an answer in case_answers.json: the verdict's cause stays with all times halved or
doubled, ranks numbered the other way round, steps renamed; and it goes when the symptom shrinks to a fiftieth.
The symptom is every instant in which the device does no useful work (compute that is not recompute); such
stretches are squeezed by one map of time for host and device alike. Exit 77 without the folder.
"""
import gzip
import json
import pathlib
import re
import sys
import tempfile
from bisect import bisect_right
from decimal import Decimal

import intervals as iv
import program
import traces

HERE = pathlib.Path(__file__).resolve().parent
SQUEEZE = 50


def load(path):
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    return json.loads(raw, parse_float=Decimal)


def micro(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


def store(trace, path):
    """JSON with exact times: numbers that were marked go out as they are."""
    text = json.dumps(trace, default=lambda number: f"#{number}#")
    path.write_text(re.sub(r'"#([-+0-9.eE]+)#"', r"\1", text))


def remap(trace, at):
    """Every event's begin and end through at(ns)."""
    for e in trace["traceEvents"]:
        if "ts" not in e or e.get("ph") == "M":
            continue
        begin = traces.nanoseconds(e["ts"])
        if "dur" in e:
            end = begin + traces.nanoseconds(e["dur"])
            e["dur"] = f"#{micro(at(end) - at(begin))}#"
        e["ts"] = f"#{micro(at(begin))}#"
    return trace


def scaled(trace, up, down):
    return remap(trace, lambda ns: ns * up // down)


def renamed(trace):
    for e in trace["traceEvents"]:
        found = re.fullmatch(r"ProfilerStep#(\d+)", str(e.get("name", "")))
        if found:
            e["name"] = f"ProfilerStep#{int(found.group(1)) + 7000}"
    return trace


def renumbered(trace):
    info = trace.get("distributedInfo")
    if info and "rank" in info:
        info["rank"] = info["world_size"] - 1 - info["rank"]
    return trace


def recomputed_launches(events):
    """Correlation ids of launches inside a checkpoint's backward that are not of a backward op themselves."""
    def ranges(wanted):
        return iv.union([(traces.nanoseconds(e["ts"]), traces.nanoseconds(e["ts"]) + traces.nanoseconds(e["dur"])) for e in events
                         if e.get("ph") == "X" and wanted(str(e["name"]))])

    checkpoints = ranges(lambda name: "CheckpointFunctionBackward" in name)
    inside = iv.minus(checkpoints, ranges(lambda name: re.search(r"Backward\d*$", name) and "Checkpoint" not in name))
    starts = [b for b, _ in inside]
    out = set()
    for e in events:
        if e.get("cat") == "cuda_runtime":
            at = traces.nanoseconds(e["ts"])
            i = bisect_right(starts, at) - 1
            if i >= 0 and at < inside[i][1]:
                out.add(e["args"].get("correlation"))
    return out


def useful(trace, classes):
    events = trace["traceEvents"]
    again = recomputed_launches(events)
    out = []
    for e in events:
        if e.get("cat") == "kernel" and e.get("ph") == "X" and classes.get(e["name"]) not in ("comm", "p2p") \
                and e["args"].get("correlation") not in again:
            begin = traces.nanoseconds(e["ts"])
            out.append((begin, begin + traces.nanoseconds(e["dur"])))
    return out


def squeezing(keep):
    """Map of time that keeps the intervals and squeezes what lies between them."""
    starts, kept_before, total = [], [], 0
    for begin, end in keep:
        starts.append(begin)
        kept_before.append(total)
        total += end - begin

    def at(ns):
        i = bisect_right(starts, ns) - 1
        kept = 0 if i < 0 else kept_before[i] + min(ns, keep[i][1]) - keep[i][0]
        return kept + (ns - kept) // SQUEEZE

    return at


def verdict_of(binary, made):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, trace in enumerate(made):
            paths.append(pathlib.Path(folder) / f"trace{i}.json")
            store(trace, paths[-1])
        ran, report = program.analyze(binary, paths)
        return report["verdict"] if report else {"cause": f"exit code {ran.code}: {ran.err.decode(errors='replace')}", "kind": "error"}


def check(binary, name, answer, files):
    _, report = program.analyze(binary, files)
    cause = report["verdict"]["cause"]
    classes = {k["name"]: k["class"] for k in report["kernels"]}
    changes = {"times x 0.5": lambda t: scaled(t, 1, 2), "times x 2": lambda t: scaled(t, 2, 1),
               "renumbered ranks": renumbered, "renamed steps": renamed}
    out = []
    for what, change in changes.items():
        got = verdict_of(binary, [change(load(f)) for f in files])
        if got["cause"] != cause:
            out.append(f"{name}: {what}: cause {got['cause']}, was {cause}")
    if answer.get("kind", [""])[0] not in ("none", "insufficient"):
        keep = iv.union([span for f in files for span in useful(load(f), classes)])
        got = verdict_of(binary, [remap(load(f), squeezing(keep)) for f in files])
        if got["cause"] == cause or got["kind"] != "none":
            out.append(f"{name}: symptom squeezed {SQUEEZE} times: verdict {got['kind']}, cause {got['cause']} (was {cause})")
    return out


def main():
    binary, folder, names = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    answers = json.loads((HERE / "case_answers.json").read_text())
    if not folder.exists():
        print(f"{folder} is not here: skipped")
        return 77
    problems, ran = [], 0
    wanted = [n for n in answers if not names or any(n.startswith(word) for word in names)]
    files = {n: sorted((folder / n.replace(" ", "/")).glob("rank*")) for n in wanted}
    for name in program.share(n for n in wanted if files[n]):
        ran += 1
        problems += check(binary, name, answers[name], files[name])
    print("\n".join(problems))
    print(f"{ran} cases, {len(problems)} problems")
    return 1 if problems or ran == 0 else 0


sys.exit(main())
