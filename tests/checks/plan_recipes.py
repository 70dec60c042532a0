#!/usr/bin/env python3
"""wallsight plan over evaluated vendor recipes: plan_recipes.py WALLSIGHT RECIPES_FOLDER [--table]

RECIPES_FOLDER holds recipes.json (layouts of recipes) and levers.json (`config_problems`: those whose arithmetic is
known to be wrong). Every known fault must be found as a finding of kind error, and no other recipe may have one.
Recipes whose layout string is wrong carry that string only in the problem's text. Exit code 77: no such folder."""
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

KEYS = {"gpus": "gpus", "tp": "tp", "pp": "pp", "vpp": "vpp", "cp": "cp", "ep": "ep", "etp": "etp", "seq": "seq_len", "gbs": "global_batch",
        "mbs": "micro_batch", "rg": "recompute_granularity", "rm": "recompute_modules", "disp": "moe_token_dispatcher_type",
        "be": "moe_flex_dispatcher_backend", "cgi": "cuda_graph_impl", "stash": "moe_paged_stash", "offm": "offload_modules",
        "overlap_moe_expert_parallel_comm": "overlap_moe_expert_parallel_comm", "delay_wgrad_compute": "delay_wgrad_compute"}
# vr200 has no datasheet row yet: such recipes are planned without a platform.
PLATFORMS = ("gb300", "gb200", "b300", "b200", "h100", "h200", "a100")


def configuration(recipe, problems):
    out = {"framework": "megatron_bridge"}
    for theirs, ours in KEYS.items():
        if recipe.get(theirs) is not None:
            out[ours] = recipe[theirs]
    modules = recipe.get("cgs")
    if modules:
        out["cuda_graph_modules"] = [modules] if isinstance(modules, str) else modules
    if recipe.get("env"):
        out["env"] = {k: str(v) for k, v in recipe["env"].items()}
    for name in PLATFORMS:
        if "/%s/" % name in recipe["file"]:
            out["platform"] = name
    layout = re.search(r'layout "([^"]+)"', problems.get(recipe["recipe"], ""))
    if layout:
        out["pipeline_layout"] = layout.group(1)
    return out


def plan(program, folder, index, config):
    path = os.path.join(folder, "%d.json" % index)
    with open(path, "w") as f:
        json.dump(config, f)
    done = subprocess.run([program, "plan", path, "--report", "json"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return json.loads(done.stdout), ""


def main():
    program, folder = sys.argv[1], sys.argv[2]
    table = "--table" in sys.argv
    if not os.path.exists(os.path.join(folder, "recipes.json")):
        print("no recipes at", folder)
        return 77
    recipes = json.load(open(os.path.join(folder, "recipes.json")))
    problems = {p["recipe"]: p["problem"] for p in json.load(open(os.path.join(folder, "levers.json")))["config_problems"]}
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(2) as pool:
        jobs = [(i, r, configuration(r, problems)) for i, r in enumerate(recipes)]
        plans = list(pool.map(lambda job: plan(program, scratch, job[0], job[2]), jobs))
    missed, false_alarms, refused, silent = [], [], [], {}
    for (_, recipe, _), (result, error) in zip(jobs, plans):
        name = recipe["recipe"]
        if result is None:
            refused.append((name, error))
            continue
        errors = [f["rule"] for f in result["findings"] if f["kind"] == "error"]
        for f in result["findings"]:
            if f["kind"] == "silent":
                silent[f["rule"]] = silent.get(f["rule"], 0) + 1
        if name in problems and not errors:
            missed.append(name)
        if name not in problems and errors:
            false_alarms.append((name, errors))
        if table:
            print("| %s | %s | %s |" % (name, problems.get(name, ""), ", ".join(errors)))
    print("%d recipes: %d known faults, %d found, %d missed; %d false alarms; %d refused" %
          (len(recipes), len(problems), len(problems) - len(missed), len(missed), len(false_alarms), len(refused)))
    for rule, count in sorted(silent.items()):
        print("  silent: %4d %s" % (count, rule))
    for name in missed:
        print("MISSED", name, problems[name])
    for name, errors in false_alarms:
        print("FALSE ALARM", name, ", ".join(errors))
    for name, error in refused:
        print("REFUSED", name, error)
    return 1 if missed or false_alarms or refused else 0


if __name__ == "__main__":
    sys.exit(main())
