#!/usr/bin/env python3
"""Golden reports: every folder samples/<kind>/<name>/ is analyzed and compared byte for byte with its report.txt, report.md
and report.json.

  golden.py WALLSIGHT SOURCE_DIR [--update] [NAME...]

--update rewrites what differs; read the diff before you commit it, and say in the commit why it changed.
"""
import difflib
import pathlib
import subprocess
import sys
import tempfile

REPORTS = {"text": "report.txt", "md": "report.md", "json": "report.json"}
DIFF_LINES = 40


def compare(folder, name, text, update):
    kept = folder / name
    old = kept.read_text(encoding="utf-8") if kept.exists() else None
    if old == text:
        return 0
    if update:
        kept.write_text(text, encoding="utf-8")
        print(f"{kept}: written")
        return 0
    if old is None:
        print(f"{kept}: missing; make it with --update")
        return 1
    lines = difflib.unified_diff(old.splitlines(), text.splitlines(), str(kept), "now", lineterm="")
    print("\n".join(list(lines)[:DIFF_LINES]))
    return 1


def main():
    args = [a for a in sys.argv[1:] if a != "--update"]
    binary, source, names = args[0], pathlib.Path(args[1]), args[2:]
    folders = sorted(p for kind in ("kineto", "nsys", "recording") for p in (source / "samples" / kind).iterdir() if p.is_dir())
    folders = [f for f in folders if not names or f.name in names]
    faults = 0
    for folder in folders:
        inputs = sorted(p for p in folder.iterdir() if p.name not in REPORTS.values())
        with tempfile.TemporaryDirectory() as scratch:
            made = {name: pathlib.Path(scratch, name) for name in REPORTS.values()}
            wanted = [a for form, name in REPORTS.items() for a in ("--report", f"{form}={made[name]}")]
            ran = subprocess.run([binary, "analyze", *inputs, *wanted], capture_output=True, timeout=120)
            if ran.returncode != 0:
                print(f"{folder}: exit code {ran.returncode}: {ran.stderr.decode()}")
                faults += 1
                continue
            for name, path in made.items():
                faults += compare(folder, name, path.read_text(encoding="utf-8"), "--update" in sys.argv)
    print(f"{len(folders)} samples, {faults} faults")
    return 1 if faults or not folders else 0


sys.exit(main())
