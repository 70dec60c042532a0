#!/usr/bin/env python3
"""Makes the sample traces: make_samples.py [FOLDER] (default: the samples/ folder it stands in).

FOLDER/kineto/<story>/[rankN.]trace.json.gz, FOLDER/nsys/<story>/[rankN.]report.sqlite and, of a few stories,
FOLDER/recording/<story>/[rankN.]recording.wst. Deterministic: the same Python and SQLite give the same bytes, any others
the same content.
"""
import pathlib
import sys

import programs
import write_kineto
import write_nsys
import write_recording

FORMATS = (("kineto", write_kineto, "trace.json.gz"), ("nsys", write_nsys, "report.sqlite"),
           ("recording", write_recording, "recording.wst"))
RECORDED = ("launch_bound", "exposed_all_to_all")  # the format needs no more: tests/recorder makes all of them


def make(folder):
    """Writes every sample below folder; returns their paths relative to it."""
    made = []
    for story, loop in programs.STORIES.items():
        job = loop().run()
        for name, writer, file_name in FORMATS:
            if name == "recording" and story not in RECORDED:
                continue
            (folder / name / story).mkdir(parents=True, exist_ok=True)
            for rank in job.ranks:
                prefix = f"rank{rank.rank}." if rank.world > 1 else ""
                path = folder / name / story / (prefix + file_name)
                writer.write(rank, str(path))
                made.append(path.relative_to(folder))
    return made


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
