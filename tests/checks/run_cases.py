#!/usr/bin/env python3
"""Runs every input of a cases folder and holds the answer against its MANIFEST.json: run_cases.py WALLSIGHT FOLDER [NAME...]

Kind A: outcome (OK, WARN with a note, REFUSE with one line), exact numbers per step, input unchanged, nothing left
beside it, 10 s. Kind B: exact numbers per rank and step; for the cases named in case_answers.json also the verdict, the
leading action and the facts the report has to state. Exit 77 when FOLDER is not there.
"""
import hashlib
import json
import pathlib
import re
import sys

import program

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 10
# Notes that describe the run rather than a defect of the file.
EVERYDAY = {"rank_unknown", "rank_from_file_name", "rank_from_environment", "constants_default", "first_step_left_out",
            "unsplit_collectives", "unmatched_collectives", "what_if_not_available", "kinds_guessed", "kinds_unknown", "unclassified_kernels", "peers_missing",
            "selection", "no_host_ranges", "recompute_estimated", "missing_payload_json"}


def state_of(folder):
    return {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.is_file()}


def rows_of(report):
    return sorted(report["steps"]["rows"], key=lambda r: (r["rank"], r["device"], r["index"]))


def compare(expected, row, where):
    got = program.sums(row["partition"])
    return [f"{where}: {k} {got[k]}, expected {expected[k]}" for k in ("wall", "compute", "copy", "comm", "idle")
            if k in expected and got[k] != expected[k]]


def check_numbers(numbers, report):
    """Exact numbers of a kind A input."""
    rows, out = rows_of(report), []
    if numbers.get("steps", 0) == 0 and "kernels" in numbers:
        return out if report["verdict"]["kind"] == "insufficient" else ["a verdict without GPU records"]
    if numbers.get("steps", 0) == 0:
        expected = numbers.get("window_ns", numbers.get("totals_ns", {}))
        if report["steps"]["origin"] != "whole" or report["steps"]["count"] != 0:
            out.append(f"steps: origin {report['steps']['origin']}, count {report['steps']['count']}; expected whole, 0")
        return out + compare(expected, rows[0], "whole")
    complete = [r for r in rows if r.get("complete", True)]
    devices = {(r["rank"], r["device"]) for r in complete}
    if len(complete) != numbers["steps"] * len(devices):
        out.append(f"{len(complete)} step rows on {len(devices)} devices, expected {numbers['steps']} steps")
    if "devices" in numbers and sorted(d for _, d in devices) != numbers["devices"]:
        out.append(f"devices {sorted(devices)}, expected {numbers['devices']}")
    if "rank" in numbers and {r for r, _ in devices} != {numbers["rank"]}:
        out.append(f"ranks {devices}, expected {numbers['rank']}")
    for i, row in enumerate(complete):
        expected = numbers.get("per_step_ns") or list(numbers.get("clipped", {}).values())[i]
        if "kernels" in numbers and len(devices) > 1 and row["device"] != min(d for _, d in devices):
            expected = {"wall": expected["wall"]}  # the copies are on the first device
        out += compare(expected, row, f"{row['name']} of device {row['device']}")
    return out


def check_a(case, binary, folder):
    paths = [folder / f for f in case["files"]]
    before = state_of(folder)
    ran, report = program.analyze(binary, paths, "--step-window", "host", limit_s=LIMIT_S)
    out = []
    if ran.seconds > LIMIT_S:
        out.append(f"took more than {LIMIT_S} s")
    after = {p: h for p, h in state_of(folder).items() if not p.name.endswith("-shm")}
    if after != before:
        out.append(f"the folder changed: {sorted(map(str, set(after.items()) ^ set(before.items())))}")
    if ran.code not in (0, 2):
        return out + [f"exit code {ran.code}: {ran.err.decode(errors='replace')[:300]}"]
    word = "REFUSE" if report is None else "OK"
    if report is not None and any(n["severity"] != "info" or n["code"] not in EVERYDAY for n in report["notes"]):
        word = "WARN"
    allowed = {case["outcome"], case.get("alt_outcome", case["outcome"])}
    if word not in allowed and not (word == "WARN" and "OK" in allowed):
        notes = [n["code"] for n in report["notes"]] if report else ran.err.decode(errors="replace")
        out.append(f"outcome {word}, expected {' or '.join(sorted(allowed))}; {notes}")
    if report is None:
        lines = ran.err.decode().splitlines()
        if len(lines) != 1 or paths[0].name.rstrip("/") not in lines[0]:
            out.append(f"the refusal is not one line that names the file: {lines}")
        return out
    if case.get("numbers"):
        out += check_numbers(case["numbers"], report)
        text = program.run([binary, "analyze", *paths]).out + ran.out
        out += [f"the report says {secret!r}" for secret in case["numbers"].get("must_not_appear", []) if secret.encode() in text]
        if b"\x1b" in text:
            out.append("a raw ESC in the report")
    return out


def check_ranks(per_rank, report, where):
    """Exact numbers of a kind B input; in its words memsets and device copies are copies."""
    rows, out = rows_of(report), []
    for rank, steps in per_rank.items():
        mine = [r for r in rows if r["rank"] == int(rank)]
        if not steps and report["steps"]["origin"] == "whole":
            continue  # no steps found: one row for the whole recording
        if len(mine) != len(steps):
            out.append(f"{where}rank {rank}: {len(mine)} steps, expected {len(steps)}")
            continue
        for row, e in zip(mine, steps):
            expected = {"wall": e["wall"], "compute": e["compute"], "comm": e["comm_exposed"], "copy": e["copy_exposed"], "idle": e["idle"]}
            out += compare(expected, row, f"{where}rank {rank} {e['step']}")
    return out


def check_answer(answer, report, text):
    """Verdict, leading action and stated facts."""
    verdict, out = report["verdict"], []
    for key in ("kind", "wall", "cause"):
        if key in answer and verdict[key] not in answer[key]:
            out.append(f"verdict {key} {verdict[key]}, expected {answer[key]}")
    fired = [f for f in report["findings"] if f["status"] == "fires"]
    leading = json.dumps(fired[0]) if fired else ""
    if "leads" in answer and not re.search(answer["leads"], leading, re.I):
        out.append(f"the leading action {fired[0]['rule'] if fired else 'is missing'} does not match /{answer['leads']}/")
    if "never_first" in answer and fired and any(
            re.search(answer["never_first"], a["set"] + " " + a["to"], re.I) for a in fired[0]["actions"]):
        out.append(f"the leading action {fired[0]['rule']} matches /{answer['never_first']}/")
    flat = " ".join(text.split())
    out += [f"the report does not say /{fact}/" for fact in answer.get("says", []) if not re.search(fact, flat, re.I)]
    return out


def check_b(case, binary, folder):
    place = folder / case["files"][0]
    expected = json.loads((place / "expected.json").read_text())
    runs = {f"{k} ": (sorted((place / k).glob("rank*")), v["per_rank"]) for k, v in expected.get("runs", {}).items()}
    runs = runs or {"": (sorted(place.glob("rank*")), expected.get("per_rank", {}))}
    answers = json.loads((HERE / "case_answers.json").read_text())
    out = []
    for label, (files, per_rank) in runs.items():
        ran, report = program.analyze(binary, files, "--step-window", "host", limit_s=LIMIT_S)
        if report is None:
            out.append(f"{label}exit code {ran.code}: {ran.err.decode(errors='replace')[:300]}")
            continue
        out += check_ranks(per_rank, report, label)
        answer = answers.get((case["name"] + " " + label).strip())
        if answer:
            _, report = program.analyze(binary, files)
            out += check_answer(answer, report, program.run([binary, "analyze", *files]).out.decode())
    return out


def main():
    binary, folder, names = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    if not (folder / "MANIFEST.json").exists():
        print(f"{folder} is not here: skipped")
        return 77
    bad = ran = 0
    for case in json.loads((folder / "MANIFEST.json").read_text()):
        if names and not any(case["name"].startswith(n) for n in names):
            continue
        problems = (check_a if case["kind"] == "A" else check_b)(case, binary, folder)
        ran += 1
        bad += bool(problems)
        for p in problems:
            print(f"{case['name']}: {p}")
    print(f"{ran} cases, {bad} with problems")
    return 1 if bad or ran == 0 else 0


sys.exit(main())
