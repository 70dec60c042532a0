#!/usr/bin/env python3
"""The committed samples are what the generator makes, and each is small: samples_check.py SOURCE_DIR.

Content is compared, not bytes: another zlib or SQLite packs the same content differently.
"""
import gzip
import pathlib
import sqlite3
import sys
import tempfile

source = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(source / "samples" / "generator"))
import make_samples  # noqa: E402


def content(path):
    if path.suffix == ".wst":
        return path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    return list(db.iterdump())


def main():
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        made = make_samples.make(pathlib.Path(folder))
        for path in made:
            kept = source / "samples" / path
            if not kept.exists():
                faults.append(f"samples/{path}: missing")
            elif content(kept) != content(pathlib.Path(folder) / path):
                faults.append(f"samples/{path}: not what the generator makes")
            elif kept.stat().st_size >= 100_000:
                faults.append(f"samples/{path}: {kept.stat().st_size} bytes, the limit is 100000")
    kept = {p.relative_to(source / "samples") for e in ("*.json.gz", "*.sqlite", "*.wst") for p in (source / "samples").rglob(e)}
    faults += [f"samples/{p}: nothing makes it" for p in sorted(kept - set(made))]
    for fault in faults:
        print(fault)
    print(f"{len(made)} samples, {len(faults)} faults")
    return 1 if faults or len(made) < 20 else 0


sys.exit(main())
