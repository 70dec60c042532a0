#!/usr/bin/env python3
"""JSON reports are valid against schemas/report.schema.json, and their partitions sum exactly; plans against schemas/plan.schema.json.

schema_check.py WALLSIGHT SOURCE_DIR: analyzes every sample and every file of tests/cli/data, plans every sample configuration. Exit 77 without jsonschema.
"""
import json
import os
import pathlib
import subprocess
import sys

DEBIAN_PYTHON = "/usr/bin/python3"
try:
    import jsonschema
except ImportError:
    if os.path.realpath(sys.executable) != os.path.realpath(DEBIAN_PYTHON) and os.path.exists(DEBIAN_PYTHON):
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, "-B", *sys.argv])
    print("no jsonschema: skipped")
    sys.exit(77)


def exact_sums(report):
    """What a schema can not say."""
    for row in report["steps"]["rows"]:
        if sum(row["partition"].values()) != row["end_ns"] - row["begin_ns"]:
            yield f"step {row['name']} of rank {row['rank']}: the partition does not sum to the step"
    mean = report["partition"]["mean_per_step"]
    if report["steps"]["mean_ns"] is not None and sum(mean.values()) != report["steps"]["mean_ns"]:
        yield f"mean partition sums to {sum(mean.values())}, the mean step is {report['steps']['mean_ns']}"
    for rank in report["ranks"]:
        if rank["step_mean_ns"] is not None and sum(rank["partition"].values()) != rank["step_mean_ns"]:
            yield f"rank {rank['rank']}: the partition does not sum to the mean step"


def gains_of_one_time(report):
    """Gains are never added: of two findings on one time of the step the later one names an earlier one."""
    earlier = []
    for finding in report["findings"]:
        gain = finding["gain"]
        if finding["status"] != "fires" or not gain or gain["hi_share"] < 0.0005:
            continue
        shared = [e for e in earlier if set(e["gain"]["of"]) & set(gain["of"])]
        if not gain["of"]:
            yield f"{finding['rule']}: a gain of no time"
        if gain["same_time_as"] != (shared[0]["rule"] if shared else None):
            yield f"{finding['rule']}: of the same time as {[e['rule'] for e in shared]}, it says {gain['same_time_as']}"
        earlier.append(finding)


def broken(report):
    """Copies with one fault each: the schema has to refuse all of them."""
    for name, fault in [
        ("unknown key", lambda r: r.update(extra=1)),
        ("missing key", lambda r: r.pop("losses")),
        ("share above 1", lambda r: r["losses"][0].update(hi_share=1.5)),
        ("fraction of a ns", lambda r: r["partition"].update(total_ns=0.5)),
        ("unknown leaf", lambda r: r["partition"]["mean_per_step"].update({"idle.other": 0})),
        ("unknown cause", lambda r: r["verdict"].update(cause="bad luck")),
        ("a wall without evidence", lambda r: r["verdict"].update(kind="insufficient", wall="memory")),
        ("an escape code", lambda r: r["tool"].update(version="\x1b[31m")),
    ]:
        copy = json.loads(json.dumps(report))
        fault(copy)
        yield name, copy


def broken_plans(plan):
    for name, fault in [
        ("unknown key", lambda p: p.update(extra=1)),
        ("a plan without a result", lambda p: p.pop("result")),
        ("unknown status", lambda p: p["result"].update(status="good")),
        ("unknown framework", lambda p: p.update(framework="nemo")),
        ("no GPUs", lambda p: p.update(gpus=0)),
    ]:
        copy = json.loads(json.dumps(plan))
        fault(copy)
        yield name, copy


def check_plans(binary, source):
    """Every sample configuration, and what the schema has to refuse."""
    validator = jsonschema.Draft7Validator(json.loads((source / "schemas/plan.schema.json").read_text()))
    paths = sorted(p for p in (source / "samples/config").iterdir() if p.suffix != ".md")
    plan = None
    for path in paths:
        run = subprocess.run([binary, "plan", path, "--report", "json"], capture_output=True, timeout=120)
        if run.returncode != 0:
            yield f"{path.name}: exit code {run.returncode}: {run.stderr.decode()}"
            continue
        plan = json.loads(run.stdout.decode("utf-8"))
        yield from (f"{path.name}: {'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(plan))
    if plan is None:
        yield "no plan of any sample"
    else:
        yield from (f"the schema of plans accepts {name}" for name, copy in broken_plans(plan) if validator.is_valid(copy))


def main():
    binary, source = sys.argv[1], pathlib.Path(sys.argv[2])
    validator = jsonschema.Draft7Validator(json.loads((source / "schemas/report.schema.json").read_text()))
    inputs = sorted(p for kind in ("kineto", "nsys") for p in (source / "samples" / kind).iterdir() if p.is_dir())
    inputs += sorted((source / "tests/cli/data").glob("*.json"))
    faults, report = [], None
    for path in inputs:
        run = subprocess.run([binary, "analyze", path, "--report", "json"], capture_output=True, timeout=120)
        if run.returncode != 0:
            faults.append(f"{path.name}: exit code {run.returncode}: {run.stderr.decode()}")
            continue
        report = json.loads(run.stdout.decode("utf-8"))
        faults += [f"{path}: {'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in validator.iter_errors(report)]
        faults += [f"{path}: {f}" for f in [*exact_sums(report), *gains_of_one_time(report)]]
    if report is not None:
        faults += [f"the schema accepts {name}" for name, copy in broken(report) if validator.is_valid(copy)]
    faults += check_plans(binary, source)
    for fault in faults:
        print(fault)
    print(f"{len(inputs)} inputs, {len(faults)} faults")
    return 1 if faults or report is None else 0


sys.exit(main())
