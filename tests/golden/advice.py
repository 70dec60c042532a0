#!/usr/bin/env python3
"""Golden advice: each file of advice/ is one pair of a symptom and a run configuration, and what is advised for it.

  advice.py WALLSIGHT SOURCE_DIR [--update] [NAME...]

A file has three parts between lines of dashes: where the recording comes from (`sample NAME`, or settings of a simulated
run of tests/checks/simulator) and the configuration's file name; the configuration; the findings in order, without
numbers, with the settings for the configuration's framework and the words beside them. --update rewrites the third part; read it against the
framework's own checks, not against the rules.
"""
import difflib
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "checks"))
from simulator import kineto, training  # noqa: E402

DASHES = "-" * 20 + "\n"
FRAMEWORKS = {".sh": "megatron_lm", ".yaml": "megatron_bridge", ".toml": "pytorch"}


def recording(words, source, scratch):
    if words.startswith("sample "):
        files = sorted((source / "samples" / "kineto" / words.split()[1]).glob("*.json.gz"))
        if len(files) > 1:
            return files
        one = scratch / "rank0.json.gz"  # of the job that the configuration starts, not the whole of it
        one.write_bytes(files[0].read_bytes())
        return [one]
    setup = training.Setup(**json.loads(words))
    return kineto.write(training.simulate(setup), scratch / "run")


def setting(action):
    words = action["set"] + (" -> " + action["to"] if action["to"] else "")
    return words + (" (%s)" % action["note"] if action["note"] else "")


def beside(finding):
    """What stands around the settings: whether a gain is stated and on what it rests, and the words for this run."""
    out = ["   gain: %s" % (finding["gain"]["basis"] if finding["gain"] else "none")]
    out += ["   why: %s" % finding["why"]] if finding["why"] else []
    for key, word in (("published", "published"), ("pitfalls", "watch"), ("verify", "verify")):
        out += ["   %s: %s" % (word, line if isinstance(line, str) else json.dumps(line, sort_keys=True)) for line in finding[key]]
    return out


def advice(report, framework):
    verdict = report["verdict"]
    out = ["verdict: %s, %s" % (verdict["kind"], verdict["cause"])]
    number, seen = 0, set()
    for f in report["findings"]:
        if f["status"] != "fires":
            continue
        shown = [a for a in f["actions"] if a["framework"] in (framework, "env", "any")]
        settings = ["   %s%s" % ("" if a["framework"] == framework else a["framework"] + ": ", setting(a)) for a in shown]
        if f["phase"] == "data":
            out += ["%s: %s" % (f["rule"], f["title"])] + settings if f["rule"].startswith("configuration/") else []
            continue
        number += 1
        out.append("%d. [%s] %s: %s" % (number, f["phase"], f["rule"], f["title"]))
        if f["held_back_by"]:
            out.append("   after %s" % f["held_back_by"])
        if f["ahead_of_phase"]:
            out.append("   ahead of phase %s" % f["ahead_of_phase"])
        out += ["   instead of %s" % rule for rule in f["conflicts"] if rule in seen]
        seen.add(f["rule"])
        out += settings + ["   with %s of %s" % (w["set"], w["rule"]) for w in f["with"]] + beside(f)
    unknown = [f for f in report["findings"] if f["status"] == "unknown" and f["phase"] != "data"]
    out += ["may apply: %s (to know: %s)" % (f["rule"], f["to_know"]) for f in unknown]
    return "\n".join(out) + "\n"


def check(binary, source, path, update):
    head, config, kept = (path.read_text(encoding="utf-8").split(DASHES) + [""])[:3]
    words, config_name = head.strip().rsplit("\n", 1)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / config_name).write_text(config, encoding="utf-8")
        ran = subprocess.run([binary, "analyze", *recording(words, source, scratch), "--config", scratch / config_name, "--report", "json"],
                             capture_output=True, timeout=120, text=True)
    if ran.returncode != 0:
        print("%s: exit code %d: %s" % (path.name, ran.returncode, ran.stderr))
        return 1
    made = advice(json.loads(ran.stdout), FRAMEWORKS.get(pathlib.Path(config_name).suffix) or json.loads(config)["framework"])
    if made == kept:
        return 0
    if update:
        path.write_text(DASHES.join((head, config, made)), encoding="utf-8")
        print("%s: written" % path.name)
        return 0
    print("\n".join(difflib.unified_diff(kept.splitlines(), made.splitlines(), path.name, "now", lineterm="")))
    return 1


def main():
    args = [a for a in sys.argv[1:] if a != "--update"]
    binary, source, names = args[0], pathlib.Path(args[1]), args[2:]
    paths = [p for p in sorted((HERE / "advice").glob("*.txt")) if not names or p.stem in names]
    faults = sum(check(binary, source, p, "--update" in sys.argv) for p in paths)
    print("%d pairs of symptom and configuration, %d differ" % (len(paths), faults))
    return 1 if faults or (len(paths) < 20 and not names) else 0


sys.exit(main())
