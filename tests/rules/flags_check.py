#!/usr/bin/env python3
"""Every flag a rule emits is one that a release accepts: flags_check.py CHECKOUT

The list is tests/rules/verified_flags.json. A flag that not every release has must stand in rules/frameworks.json with
the release that brought it. With ../shared/knowledge beside the checkout the list itself is compared with its source."""
import glob
import json
import os
import re
import sys

root = sys.argv[1]
faults = []


def load(*parts):
    with open(os.path.join(root, *parts), encoding="utf-8") as f:
        return json.load(f)


def flags_of(text):
    return re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9]", text.replace("--no-...", ""))


known = load("tests", "rules", "verified_flags.json")
versions = {row["flag"]: row for row in load("rules", "frameworks.json")["flags"]}
allowed = set(known["verified"]) | set(known["others"]["megatron_lm"]) | set(known["others"]["launchers"]) | set(known["others"]["tools"])
older = {flag for row in versions.values() for flag in flags_of(row["before"])}
paths = sorted(glob.glob(os.path.join(root, "rules", "*", "*.json")))
rules = [load(os.path.relpath(path, root)) for path in paths if not path.endswith(".cases.json")]
# The one rule that names spellings of no release, each with what to write.
NAMES_WRONG = "configuration/flag_of_no_release"
named, emitted = set(), 0
for rule in rules:
    for action in rule["actions"]:
        if action["framework"] == "nsys":
            continue
        for flag in flags_of(" ".join([action["set"], action.get("to", ""), action.get("note", "")])):
            emitted += 1
            if flag in known["wrong"] and rule["id"] == NAMES_WRONG and action["to"].startswith("leave it out: "):
                named.add(flag)
            elif flag in known["wrong"]:
                faults.append("%s: %s is a spelling that no release accepts" % (rule["id"], flag))
            elif flag not in allowed and flag not in older:
                faults.append("%s: %s is not in tests/rules/verified_flags.json" % (rule["id"], flag))
            since = known["verified"].get(flag)
            if since not in (None, "0.12") and flag in flags_of(action["set"]) and flag not in versions:
                faults.append("%s: %s came with %s: give it a line in rules/frameworks.json" % (rule["id"], flag, since))
faults += ["%s: %s is not told" % (NAMES_WRONG, flag) for flag in sorted(set(known["wrong"]) - named)]
# The lowest releases of other software stand in the table alone, and every line of it is for something that is advised.
floors = load("rules", "frameworks.json")["floors"]
unused = {json.dumps(f["words"]) for f in floors}
for rule in rules:
    for action in rule["actions"]:
        words = " ".join([action["set"], action.get("to", ""), action.get("note", "")])
        unused -= {json.dumps(f["words"]) for f in floors if any(all(w in words for w in one) for one in f["words"])}
    for text in [a.get("note", "") for a in rule["actions"]] + [p if isinstance(p, str) else p["text"] for p in rule["pitfalls"]]:
        if re.search(r"Transformer Engine \d", text):
            faults.append("%s: a release of Transformer Engine: give it a line in `floors` of rules/frameworks.json" % rule["id"])
faults += ["rules/frameworks.json: no rule advises %s" % words for words in sorted(unused)]
# Words of one framework are marked as such, where a recording of any may be told them.
own = re.compile(r"(?<![\w-])--[a-z]|Megatron|Bridge|NVTE_")
for rule in rules:
    if rule["id"].split("/")[0] in ("configuration", "data_quality") or any("cfg.framework" in clause for clause in rule["when"]):
        continue
    for key in ("why", "pitfalls", "verify"):
        lines = rule.get(key, [])
        for line in [lines] if isinstance(lines, str) else lines:
            if not (isinstance(line, dict) and line.get("frameworks")) and own.search(line if isinstance(line, str) else line["text"]):
                faults.append("%s: %s: words of one framework without `frameworks`: %s" % (rule["id"], key, line if isinstance(line, str) else line["text"]))
for flag, row in versions.items():
    since = known["verified"].get(flag)
    if since and since.replace("main", "0.19") != row["since"]:
        faults.append("rules/frameworks.json: %s since %s, the list says %s" % (flag, row["since"], since))
# Selective recompute beside a method or a number of layers stops the job: who turns full into selective says so.
for rule in rules:
    for action in rule["actions"]:
        to_selective = "granularity selective" in action["set"] or 'granularity = "selective"' in action["set"]
        if to_selective and any("granularity = 'full'" in c for c in rule["when"]) and not re.search("recompute.method", action.get("note", "")):
            faults.append("%s: selective recompute in place of full without `remove --recompute-method`" % rule["id"])
# The rules on stated releases know what the table knows: every flag of it that a configuration can hold, and every floor.
by_id = {rule["id"]: rule for rule in rules}


def release(version):
    major, minor = version.split(".")[:2]
    return 100 * int(major) + int(minor)


readable = {flag.split("=")[0] for key in load("schemas", "run_config.schema.json")["properties"].values() for flag in key.get("x-megatron-lm", [])}
stated = {flag: a["when"] for name in ("exchange_setting_not_in_release", "setting_not_in_release") for a in by_id["configuration/" + name]["actions"] if "when" in a for flag in flags_of(a["set"])}
for flag, row in versions.items():
    when = stated.get(flag, "")
    if flag in readable and "cfg.core_release < %d " % release(row["since"]) not in when:
        faults.append("configuration/setting_not_in_release: %s came with %s, the rule says `%s`" % (flag, row["since"], when))
columns = {"Transformer Engine": "te_release", "PyTorch": "torch_release"}
stated = [(a["set"], a.get("note", ""), a["when"]) for name in ("software_too_old", "engine_too_old_for_precision") for a in by_id["configuration/" + name]["actions"] if "when" in a]
for f in floors:
    clause = "cfg.%s < %d " % (columns.get(f["needs"]), release(f["at_least"]))
    of_own_rule = "user-buffer" in f["name"]
    if f["needs"] in columns and not of_own_rule and not any(f["name"] in note and clause in when for _, note, when in stated):
        faults.append("configuration/software_too_old: nothing of %s needing %s %s" % (f["name"], f["needs"], f["at_least"]))
source = os.path.join(root, "..", "shared", "knowledge", "levers.json")
if os.path.exists(source):
    with open(source, encoding="utf-8") as f:
        levers = json.load(f)
    text = json.dumps([l["set"] for l in levers["levers"]] + levers["version_matrix"] + [l["preconditions"] for l in levers["levers"]])
    for flag in known["verified"]:
        if flag not in text:
            faults.append("verified_flags.json: %s is not in the source" % flag)
print("%d flags emitted, %d allowed" % (emitted, len(allowed)))
print("\n".join(faults))
sys.exit(1 if faults or emitted < 50 else 0)
