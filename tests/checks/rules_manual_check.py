#!/usr/bin/env python3
"""The manual page has an entry for every rule, with its conditions: rules_manual_check.py CHECKOUT"""
import glob
import json
import os
import subprocess
import sys

root = sys.argv[1]
page = subprocess.run([sys.executable, os.path.join(root, "scripts", "rules_manual.py")], capture_output=True, text=True, check=True).stdout
rules = [p for p in glob.glob(os.path.join(root, "rules", "*", "*.json")) if not p.endswith(".cases.json")]
wrong = []
for path in rules:
    with open(path, encoding="utf-8") as f:
        rule = json.load(f)
    lines = [s["text"] for key in ("why", "published", "pitfalls", "verify") for s in rule.get(key, []) if isinstance(s, dict)]
    if any(s.replace("|", "\\|").replace("<", "&lt;") not in page for s in lines):
        wrong.append(rule["id"] + ": a line is missing")
    if any("(where `%s`)" % a["when"] not in page for a in rule["actions"] if "when" in a) or ("gain" in rule and rule["gain"]["hi_share"] not in page):
        wrong.append(rule["id"] + ": a condition of an action, or the gain, is missing")
    if page.count("### `%s`\n" % rule["id"]) != 1 or any("when `%s`" % clause not in page for clause in rule["when"]):
        wrong.append(rule["id"])
print("%d rules, %d entries" % (len(rules), page.count("\n### ")))
print("\n".join(wrong))
sys.exit(1 if wrong or len(rules) < 60 or len(rules) != page.count("\n### ") else 0)
