#!/usr/bin/env python3
"""Every file below the folders through the program, as a Markdown table: run_all.py WALLSIGHT FOLDER...

Fails on a crash, a sanitizer report, more than the limit of time, an exit code other than 0 and 2, a refusal that is not
one line, or a report whose partitions do not sum to their windows. Exit 77 when no folder is there.
"""
import pathlib
import sys

import program
from interval_arithmetic import files_of

LIMIT_S = 120


def problems_of(ran, report):
    out = []
    if ran.code not in (0, 2):
        out.append(f"exit code {ran.code}")
    if b"Sanitizer" in ran.err or b"runtime error" in ran.err:
        out.append("sanitizer report")
    if ran.seconds > LIMIT_S:
        out.append(f"more than {LIMIT_S} s")
    if report is None and ran.code == 2 and len(ran.err.splitlines()) != 1:
        out.append("the refusal is not one line")
    for row in report["steps"]["rows"] if report else []:
        if sum(row["partition"].values()) != row["end_ns"] - row["begin_ns"]:
            out.append(f"partition of {row['name']} does not sum to its window")
    return out


def line_of(path, ran, report, problems):
    if report is None:
        text = ran.err.decode(errors="replace").strip().replace("|", "/")[:160]
        cells = ["-", "-", text]
    else:
        verdict, steps = report["verdict"], report["steps"]
        cells = [f"{verdict['kind']} {verdict['loss'] or '-'} / {verdict['cause']} ({verdict['confidence']})",
                 f"{steps['count']} {steps['origin']}", " ".join(f"{n['code']}:{n['count']}" for n in report["notes"])]
    return f"| {path.name} | {ran.code} | {ran.seconds:.2f} | {ran.peak_mb:.0f} | {' | '.join(cells)} | {'; '.join(problems)} |"


def main():
    binary, folders = sys.argv[1], [p for p in sys.argv[2:] if pathlib.Path(p).exists()]
    if not folders:
        print("no folder is here: skipped")
        return 77
    print("| file | exit | s | MB | verdict | steps | notes or refusal | problems |\n|---|---|---|---|---|---|---|---|")
    bad = 0
    for path in files_of(folders):
        ran, report = program.analyze(binary, [path], limit_s=LIMIT_S)
        problems = problems_of(ran, report)
        bad += bool(problems)
        print(line_of(path, ran, report, problems), flush=True)
    print(f"\n{bad} files with problems")
    return 1 if bad else 0


sys.exit(main())
