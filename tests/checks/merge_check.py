#!/usr/bin/env python3
"""Merged partials are the run: merge_check.py WALLSIGHT FOLDER...

For every folder of traces and every lone trace found under the FOLDERs: analyzing its files at once, and writing one
partial per file and merging them in another order, give the same facts and the same reports, byte for byte; so does one
partial of all files, and a folder of one partial. What analyze refuses is left out. Exit 77 when there is no folder at all.
"""
import pathlib
import random
import sqlite3
import sys
import tempfile

import program

NAMES = (".json", ".json.gz", ".sqlite", ".wst")
LARGEST_BYTES = 40_000_000


def is_trace(path):
    return path.is_file() and path.name.endswith(NAMES) and not path.name.startswith(("expected", "report", "MANIFEST", "case"))


def runs(folder):
    """Lists of files that may be the ranks of one run."""
    files = sorted(p for p in folder.iterdir() if is_trace(p)) if folder.is_dir() else []
    lone = len(files) > 16 or len({p.name.split(".", 1)[1] for p in files}) > 1
    out = [[p] for p in files] if lone else [files] if files else []
    for sub in sorted(p for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []:
        out += runs(sub)
    return out


def dump(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return "\n".join(db.iterdump())


def outputs(binary, command, folder):
    """(exit code, last line of stderr, facts and reports)."""
    folder.mkdir()
    base = folder / "run"
    done = program.run([binary, *command, "-o", f"{base}.wsdb", "--all",
                        *(a for f in ("text", "md", "json") for a in ("--report", f"{f}={base}.{f}"))], 300)
    if done.code != 0:
        return done.code, done.err.decode(), None
    return 0, "", [dump(f"{base}.wsdb")] + [pathlib.Path(f"{base}.{f}").read_bytes() for f in ("text", "md", "json")]


def difference(binary, files, tmp):
    """What is wrong with merging these files, None when nothing, False when analyze refuses them."""
    code, _, whole = outputs(binary, ["analyze", *files, "--quiet"], tmp / "whole")
    if code != 0:
        return False
    parts = []
    for i, file in enumerate(files):
        parts.append(tmp / f"{(7 * i + 3) % 1000:03d}.wspart")  # names say nothing of the order
        done = program.run([binary, "analyze", "--partial", file, "-o", parts[-1], "--quiet"], 300)
        if done.code != 0 or done.out:
            return f"--partial {file.name}: {done.code} {done.err.decode()}"
    random.Random(len(files)).shuffle(parts)
    one = tmp / "all.partial"
    if len(files) > 1:
        done = program.run([binary, "analyze", "--partial", *files, "-o", one, "--quiet"], 300)
        if done.code != 0:
            return f"--partial of all: {done.code} {done.err.decode()}"
    for name, given in (("shuffled", parts), ("at once", [one]) if len(files) > 1 else ("folder", [tmp])):
        code, err, again = outputs(binary, ["merge", *given, "--quiet"], tmp / name.replace(" ", "_"))
        if code != 0:
            return f"merge, {name}: {code} {err}"
        for kind, a, b in zip(("facts", "text", "md", "json"), whole, again):
            if a != b:
                return f"merge, {name}: other {kind}"
    sizes = [p.stat().st_size for p in parts]
    rows = sum(p.stat().st_size for p in files)
    print(f"{files[0].parent.name}/{files[0].name}: {len(files)} files of {rows} bytes, partials of {sum(sizes)}, largest {max(sizes)}")
    return None


def main():
    binary, folders = sys.argv[1], [pathlib.Path(f) for f in sys.argv[2:] if pathlib.Path(f).is_dir()]
    if not folders:
        return 77
    faults = checked = several = 0
    found = [r for f in folders for r in runs(f)]
    for files in [r for r in found if len(r) > 1] + program.share(r for r in found if len(r) == 1):
        if sum(p.stat().st_size for p in files) > LARGEST_BYTES:
            continue
        with tempfile.TemporaryDirectory() as tmp:
            wrong = difference(binary, files, pathlib.Path(tmp))
        if wrong is False:
            continue
        checked += 1
        several += len(files) > 1
        if wrong:
            faults += 1
            print(f"{files[0].parent}/{files[0].name}: {wrong}", file=sys.stderr)
    print(f"{checked} runs, {several} of several files, {faults} faults")
    return 1 if faults or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
