#!/usr/bin/env python3
"""What `plan` advises is done literally, and planned again: plan_followed.py WALLSIGHT CHECKOUT [COUNT [SEED]]

Over the configurations of samples/config and random launch scripts every item whose settings have a value is applied to the
keys of the configuration, all actions of an item and all items together. The second plan must have no setting that does not
work which the first had not, no worse verdict on the memory, and the fault of no item that was followed.
"""
import json
import pathlib
import random
import re
import sys
import tempfile

import plan_faults
import program

MEMORY = ["fits", "may_not_fit", "does_not_fit"]
NAMES = {"CP": "cp", "EP": "ep", "TP": "tp", "PP": "pp", "ranks over which FSDP shards": "fsdp_shard_size"}
OWN = {"megatron_lm", "any", "env", "pytorch"}


def spellings(root):
    """flag or variable -> (key, what the bare flag sets), of the schema."""
    schema, out = json.loads((root / "schemas/run_config.schema.json").read_text())["properties"], {}
    for key, entry in schema.items():
        for flag in entry.get("x-megatron-lm", []):
            name, _, constant = flag.partition("=")
            out.setdefault(name, (key, constant or None))
        for variable in entry.get("x-env", []):
            if "~" not in variable:
                out.setdefault(variable, (key, None))
    return schema, out


def typed(schema, key, value):
    kind = schema[key].get("type")
    if kind in ("integer", "number"):
        return json.loads(value) if re.fullmatch(r"[0-9.]+", value) else None
    if kind == "boolean":
        return {"": True, "true": True, "false": False}.get(value.lower())
    if kind == "array":
        return value.split() if re.fullmatch(r"[a-z0-9_ ]+", value) and not re.search(r"\b(the|a|without|or|of)\b", value) else None
    return value if re.fullmatch(r"[A-Za-z0-9_.]+", value) else None


def changes(schema, flags, finding):
    """[(key, value)] of an item, value None: left out. None: it is no matter of settings alone, or they have no value."""
    out = []
    for action in finding["actions"]:
        if action["framework"] not in OWN or "not as it stands: " in action["note"] or ": " in action["set"]:
            continue  # what does not hold, and a sentence
        if action["set"] in NAMES:
            parts = [(NAMES[action["set"]], action["to"])]
        else:
            parts = []
            for name, value in [(action["set"], action["to"])] if action["framework"] == "env" else plan_faults.settings(action):
                if name in flags:
                    key, constant = flags[name]
                    value = value.removesuffix(" for example")
                    parts.append((key, "leave " if action["to"].startswith("leave ") else constant or value))
        removed = re.search(r"remove (--.*?)(;|, which|$)", action["note"]) if parts else None
        parts += [(flags[name][0], "leave ") for name in re.findall(r"--[a-z-]+", removed[1]) if name in flags] if removed else []
        for key, value in parts:
            if value.startswith("leave "):
                out.append((key, None))
            elif (known := typed(schema, key, value)) is not None:
                out.append((key, known))
    return out


class Planner:
    def __init__(self, binary, root, scratch):
        self.binary, self.path = binary, pathlib.Path(scratch, "run.json")
        self.schema, self.flags = spellings(root)

    def plan(self, path, *given):
        ran = program.run([self.binary, "plan", path, *given, "--report", "json"])
        return json.loads(ran.out) if ran.code == 0 else None

    def native(self, config):
        self.path.write_text(json.dumps(config))
        return self.plan(self.path)

    def keys_of(self, plan):
        out = {}
        for key, value in plan["config"].items():
            kind = self.schema[key].get("type")
            out[key] = value if not isinstance(value, str) or kind == "string" else typed(self.schema, key, value)
            if kind == "array" and isinstance(value, str):
                out[key] = value.split()
        return {key: value for key, value in out.items() if value is not None}

    def faults(self, config):
        before = self.native(config)
        if before is None:
            return ["the keys of the plan are no configuration"]
        after, followed = dict(config), []
        for finding in before["findings"]:
            wanted = changes(self.schema, self.flags, finding)
            for key, value in wanted:
                after.pop(key, None)
                if value is not None:
                    after[key] = value
            if wanted and len(wanted) >= len([a for a in finding["actions"] if a["framework"] in ("megatron_lm", "any")]):
                followed.append(finding["rule"])
        if after == config:
            return []
        second = self.native(after)
        if second is None:
            return [f"the advice makes a file that is refused: {after}"]
        out = []
        had = {f["rule"] for f in before["findings"]}
        for f in second["findings"]:
            if f["kind"] == "error" and f["rule"] not in had | LEFT - {"configuration/memory_exceeds"}:
                out.append(f"new: {f['rule']}")
            if f["rule"] in followed and f["kind"] == "error" and f["rule"] not in LEFT:
                out.append(f"still: {f['rule']}")
        verdicts = [p["result"]["memory"] for p in (before, second)]
        if all(v in MEMORY for v in verdicts) and MEMORY.index(verdicts[1]) > MEMORY.index(verdicts[0]):
            out.append(f"memory: {verdicts[0]} before, {verdicts[1]} after")
        return [f"{fault}; {sorted((k, v) for k, v in after.items() if config.get(k) != v)}"
                f" without {sorted(set(config) - set(after))}" for fault in out]


# What is not fitted by one round is told again, with what is left; names of a release are none of the keys.
LEFT = {"configuration/memory_exceeds", "configuration/setting_not_in_release"}


def main():
    binary, root = sys.argv[1], pathlib.Path(sys.argv[2])
    count, draw = int(sys.argv[3]) if len(sys.argv) > 3 else 120, random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    faults, tried = {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        planner, script = Planner(binary, root, scratch), pathlib.Path(scratch, "run.sh")
        runs = [(path, []) for path in sorted((root / "samples/config").iterdir()) if path.is_file()]
        runs += [(None, None)] * (count // program.EVERY)
        for path, given in runs:
            if path is None:
                path = script
                script.write_text(plan_faults.script(draw))
                given = plan_faults.stated(draw)
            plan = planner.plan(path, *given)
            if plan is None:
                continue
            tried += 1
            for fault in planner.faults(planner.keys_of(plan)):
                faults.setdefault(fault.split(";")[0], f"{path.name} {given}: {fault}")
    for fault, where in faults.items():
        print(fault, where, sep="\n  ")
    print(f"{tried} plans followed, {len(faults)} faults")
    return 1 if faults or tried < count // program.EVERY else 0


if __name__ == "__main__":
    sys.exit(main())
