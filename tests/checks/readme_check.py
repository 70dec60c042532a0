#!/usr/bin/env python3
"""README.md tells the truth: readme_check.py SOURCE_DIR WALLSIGHT.

Every block after a line `<!-- equals FILE -->` is that file; every `make` verb and every `wallsight` verb it names exists.
"""
import pathlib
import re
import subprocess
import sys

source, binary = pathlib.Path(sys.argv[1]), sys.argv[2]
page = (source / "README.md").read_text(encoding="utf-8")
faults = []

blocks = re.findall(r"<!-- equals (\S+) -->\n```\w*\n(.*?)```\n", page, re.S)
for name, block in blocks:
    if (source / name).read_text(encoding="utf-8") != block:
        faults.append(f"the block that equals {name} differs from it")

page = re.sub(r"```text\n.*?```\n", "", page, flags=re.S)
verbs = set(re.findall(r"^\.PHONY: (.*)$", (source / "Makefile").read_text(), re.M)[0].split())
faults += [f"make {verb} does not exist" for verb in sorted(set(re.findall(r"make (\w[\w-]*)", page)) - verbs)
           if re.search(rf"(`|^)make {verb}\b", page, re.M)]
for verb in sorted(set(re.findall(r"^wallsight (\w+)|`wallsight (\w+)", page, re.M))):
    word = verb[0] or verb[1]
    if subprocess.run([binary, word, "--help"], capture_output=True).returncode != 0:
        faults.append(f"wallsight {word} --help fails")

for fault in faults:
    print(f"README.md: {fault}")
print(f"{len(blocks)} blocks, {len(faults)} faults")
sys.exit(1 if faults or not blocks else 0)
