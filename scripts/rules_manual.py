#!/usr/bin/env python3
"""The manual page of all rules, in Markdown, from the rule files: rules_manual.py [OUTPUT.md]"""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FRAMEWORKS = {"megatron_lm": "Megatron-LM", "megatron_bridge": "Megatron Bridge", "pytorch": "PyTorch", "env": "environment", "any": "any", "nsys": "nsys"}
CHANGES = {"speed_only": "speed alone", "memory": "memory", "numerics": "the numbers", "semantics": "what is trained"}
KINDS = {"error": "does not work", "silent": "does something else", "advice": "could be better"}


def text(s):
    return s.replace("|", "\\|").replace("<", "&lt;")


def said(line):
    """Words, and for which runs they are meant."""
    if isinstance(line, str):
        return text(line)
    where = [FRAMEWORKS[f] for f in line.get("frameworks", [])] + (["`%s`" % line["when"]] if line.get("when") else [])
    return text(line["text"]) + " (where %s)" % ", ".join(where)


def entry(rule):
    out = ["### `%s`" % rule["id"], "", "%s." % text(rule["title"]), ""]
    facts = ["phase %s" % rule["phase"], "wall %s" % (rule["wall"] or "none")]
    if rule.get("kind"):
        facts.append(KINDS[rule["kind"]])
    if rule.get("breaks") or rule.get("kind") == "error":
        facts.append("holds later phases back")
    if rule["causes"]:
        facts.append("answers " + ", ".join(rule["causes"]))
    out.append("- " + "; ".join(facts))
    out += ["- when `%s`" % clause for clause in rule["when"]]
    for a in rule["actions"]:
        words = a["set"] + (" -> " + a["to"] if a.get("to") else "") + (" (%s)" % a["note"] if a.get("note") else "")
        where = " (where `%s`)" % a["when"] if a.get("when") else ""
        out.append("- %s: `%s`%s" % (FRAMEWORKS[a["framework"]], words.replace("`", "'"), where))
    gain = rule.get("gain")
    if gain:
        again = gain.get("what_if", [])
        words = ""
        for change in again if isinstance(again, list) else [again]:
            words += "; %g to %g of the re-simulated change `%s` where there is one" % (change["lo"], change["hi"], change["id"])
            words += ", where `%s`" % change["when"] if change.get("when") else ""
        out.append("- gain (%s): `%s` to `%s` of the step%s" % (gain["basis"], gain["lo_share"], gain["hi_share"], words))
    why = rule["why"] if isinstance(rule["why"], list) else [rule["why"]]
    out.append("- why: %s" % " ".join(said(s) for s in why))
    out += ["- published: %s" % said(s) for s in rule.get("published", [])]
    out += ["- watch: %s" % said(s) for s in rule["pitfalls"]]
    out += ["- verify: %s" % said(s) for s in rule.get("verify", [])]
    if rule.get("safety"):
        out.append("- changes: %s" % CHANGES[rule["safety"]])
    for name in ("after", "unless", "conflicts"):
        if rule.get(name):
            out.append("- %s: %s" % (name, ", ".join("`%s`" % i for i in rule[name])))
    out.append("- source: %s" % text("; ".join(rule["sources"])))
    return out + [""]


def manual():
    folder = os.path.join(ROOT, "rules")
    out = ["# The rules", "", "Made by `scripts/rules_manual.py` from the rule files. A rule fires when all its conditions hold.", ""]
    for family in sorted(d for d in os.listdir(folder) if os.path.isdir(os.path.join(folder, d))):
        out += ["## %s" % family, ""]
        for name in sorted(os.listdir(os.path.join(folder, family))):
            if name.endswith(".json") and not name.endswith(".cases.json"):
                with open(os.path.join(folder, family, name), encoding="utf-8") as f:
                    out += entry(json.load(f))
    return "\n".join(out)


def main():
    made = manual()
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as f:
            f.write(made)
    else:
        sys.stdout.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
