#!/usr/bin/env python3
"""Puts the files that README.md quotes into it: update_readme.py (from anywhere). `readme_check` says when it is due."""
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent
page = root / "README.md"


def quoted(match):
    return f"{match[1]}```text\n{(root / match[2]).read_text(encoding='utf-8')}```\n"


page.write_text(re.sub(r"(<!-- equals (\S+) -->\n)```text\n.*?```\n", quoted, page.read_text(encoding="utf-8"), flags=re.S), encoding="utf-8")
