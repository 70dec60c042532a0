#!/usr/bin/env python3
"""Random run configurations x recordings against the conflict matrix: advice_matrix.py WALLSIGHT CHECKOUT [COUNT] [SEED]

Configurations are drawn setting by setting (advice_draw.py), so that levers meet that nobody thought of together. Where the
configuration could have started the run, no action may ask for what Megatron-LM refuses beside the settings in force (unless
its own note says what to undo first), for what is in use, or for a flag that the stated release has not; no report may give
one setting two values but in findings that are alternatives; and phases stand in their order."""
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import sqlite3
import subprocess
import sys
import tempfile

import advice_draw
from program import EVERY

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
COUNT, SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 92 // EVERY, int(sys.argv[4]) if len(sys.argv) > 4 else 7
TABLE = json.load(open(os.path.join(ROOT, "rules", "frameworks.json")))
SINCE = {row["flag"]: row["since"] for row in TABLE["flags"]}
PHASES = ["fit", "scale", "profile", "retune"]


def keys_of_flags():
    """A setting as an action spells it, without dashes: (key of the configuration, value of the bare flag)."""
    schema = json.load(open(os.path.join(ROOT, "schemas", "run_config.schema.json")))["properties"]
    out = {}
    for key, words in schema.items():
        for flag in words.get("x-megatron-lm", []) + words.get("x-megatron-bridge", []) + words.get("x-env", []):
            name, _, value = flag.partition("=")
            if "~" not in name:
                out[plain(name.split(".")[-1])] = (key, value)
    return out


def refused(words, note, beside, c):
    """What is wrong with an action, given the settings in force: (name, is it). Words as flags: dashes, no case."""
    modules, delayed = c.get("recompute_modules", []), c.get("fp8_recipe", "delayed") == "delayed"
    recompute = "recompute-modules" in words
    split = c.get("tp", 1) > 1 or c.get("cp", 1) > 1
    version = c.get("framework_version")

    def has(pattern):
        return re.search(pattern, words) is not None

    overlap, graphs = has("overlap-moe-expert-parallel-comm"), has("cuda-graph-impl.* \"?transformer-engine")
    yield "expert overlap under full recompute", overlap and c.get("recompute_granularity") == "full" and "without them" not in note
    yield "expert overlap beside recompute of moe", overlap and "moe" in modules and "without them" not in note
    yield "expert overlap beside that of shared experts", overlap and c.get("moe_shared_expert_overlap") and "shared" not in note
    yield "shared-expert overlap beside expert overlap", has("moe-shared-expert-overlap( true|$)") and c.get("overlap_moe_expert_parallel_comm")
    yield "layer graphs under full recompute", graphs and c.get("recompute_granularity") == "full"
    yield "layer graphs beside layer offload", graphs and c.get("cpu_offloading_layers")
    yield "graph of the router beside recompute of moe", graphs and has("moe-router") and "moe" in modules and not re.search("recompute-(modules (?!(.* )?moe( |$))|granularity)", beside)
    yield "recompute beside layer offload", has("recompute-granularity.*selective") and c.get("cpu_offloading_layers")
    yield "module offload beside layer offload", has("fine-grained") and c.get("cpu_offloading_layers")
    yield "moe_act without grouped GEMM", recompute and has("moe-act") and c.get("moe_grouped_gemm") is False
    yield "recompute under delayed scaling", recompute and has("moe-act|layernorm") and c.get("fp8_format") and delayed and not re.search("fp8-recipe|mixed-precision", beside)
    yield "FP8 parameter gather beside optimizer offload", has("fp8-param-gather") and c.get("optimizer_cpu_offload") and not delayed
    yield "DeepEP beside padding", has("deepep") and c.get("moe_pad_expert_input_to_capacity")
    yield "expandable segments beside registered buffers", has("expandable-segments:true") and c.get("nccl_ub")
    yield "registered buffers beside expandable segments", has("nccl-ub") and c.get("expandable_segments")
    yield "one connection under FSDP", words == "cuda-device-max-connections 1" and c.get("megatron_fsdp")
    yield "many connections beside TP or CP", has("^cuda-device-max-connections (8|32)") and split and not re.search("wants 1|needs it", note) and not c.get("megatron_fsdp")
    yield "parameter gather without gradient overlap", has("overlap-param-gather") and c.get("overlap_grad_reduce") is False and "overlap-grad-reduce" not in words + beside
    yield "parameter gather without distributed optimizer", has("overlap-param-gather") and c.get("use_distributed_optimizer") is False and "use-distributed-optimizer" not in words + beside
    yield "BF16 moments without distributed optimizer", has("use-precision-aware-optimizer") and not c.get("use_distributed_optimizer") and "distributed" not in words + note + beside
    yield "virtual stages without stages", has("num-virtual-stages|virtual-pipeline") and c.get("pp", 1) == 1
    yield "virtual stages in use", has("num-virtual-stages|virtual-pipeline") and c.get("vpp", 1) > 1
    yield "tensor parallel overlap without TP", has("tp-comm-overlap") and c.get("tp", 1) == 1
    yield "grouped GEMM in use", has("moe-grouped-gemm") and c.get("moe_grouped_gemm")
    for flag in re.findall("--[a-z][a-z0-9-]+", words if version else ""):
        yield "%s before %s" % (flag, SINCE.get(flag)), flag in SINCE and number(version) < number(SINCE[flag]) and "not in " + version not in note


def as_flags(action):
    return (action["set"] + " " + action["to"]).strip().replace("_", "-").lower()


def plain(words):
    return words.replace("_", "-").lower()


KEYS = keys_of_flags()


def number(version):
    return [int(part) for part in version.split(".")]


def assignments(action):
    """(setting, value) of an action, in plain words: '--a 8 --b' to 'x' and 'cfg.m.a / b' to '1 / 2' are two each."""
    name, to = action["set"].strip(), action["to"].strip()
    if action["framework"] == "env":
        return [(n, to) for n in re.findall("[A-Z][A-Z0-9_]+", name)]
    if name.startswith("cfg."):
        names, values = name.split(" / "), to.split(" / ")
        values = values * len(names) if len(values) == 1 else values
        return [(plain(n.split(".")[-1]), plain(v)) for n, v in zip(names, values)]
    if not name.startswith("--"):
        return []  # a sentence that names settings
    out = []
    for flag, value in re.findall(r"--([a-z][a-z0-9-]+)((?: (?!--)[^\s,;]+)*)", name):
        out.append([plain(flag), plain(value.strip())])
    if out and not out[-1][1]:
        out[-1][1] = plain(to)
    return [tuple(pair) for pair in out]


def same_value(a, b):
    words = [sorted(re.findall(r"[a-z0-9+_.-]+", v.split(": ")[0].replace("the list ", ""))) for v in (a, b)]
    return words[0] == words[1]


def in_use(setting, value, c):
    key, bare = KEYS.get(plain(setting), (None, ""))
    has = c.get(key)
    if key is None or has is None:
        return False
    if isinstance(has, bool):
        return has == ((value or bare) in ("", "true")) and (value or bare) in ("", "true", "false")
    return same_value(value or bare, plain(" ".join(has) if isinstance(has, list) else str(has)))


def alternatives(f, g):
    return g["rule"] in f["conflicts"] or f["rule"] in g["conflicts"]


def two_values(findings):
    """One setting with two values in one report, where neither finding says that it goes in place of the other."""
    seen = collections.defaultdict(list)
    for f, actions in findings:
        for a in actions:
            for setting, value in assignments(a):
                for other, g, words in seen[setting]:
                    if alternatives(f, g):
                        continue
                    if same_value(value, other):
                        if f is not g and value == other and not KINDS[f["rule"]]:
                            yield "told twice: %s %s: %s, %s" % (setting, value, g["rule"], f["rule"])
                        continue
                    yield "two values: %s: %s in %s, %s in %s" % (setting, other, g["rule"], value, f["rule"])
                seen[setting].append((value, f, a["note"]))


def out_of_order(fired):
    """Phases against their order, and what builds on another before it, where the report does not say why."""
    of_work = [f for f in fired if f["phase"] != "data"]
    for i, f in enumerate(of_work):
        behind = [g for g in of_work[i + 1:] if PHASES.index(g["phase"]) < PHASES.index(f["phase"])]
        if behind and not f["ahead_of_phase"] and not f["held_back_by"]:
            yield "order: %s (%s) before %s (%s)" % (f["rule"], f["phase"], behind[0]["rule"], behind[0]["phase"])
        before = {g["rule"] for g in of_work[:i]}
        for rule in f["after"]:
            if rule not in before and any(g["rule"] == rule for g in of_work):
                yield "order: %s before %s, on which it builds" % (f["rule"], rule)


def faults_of(fired, c):
    told = [a for f in fired if f["rule"] == "configuration/not_in_effect" for a in f["actions"]]
    denied = {a["set"] for a in told if not a["to"].startswith("the file says no")}
    c = dict(c, **{a["set"]: True for a in told if a["to"].startswith("the file says no,")})  # off in the file, and runs
    denied |= {"recompute_modules"} if "recompute_granularity" in denied else set()
    denied |= {key for key in c if key.startswith(("fp8_", "fp4_"))} if "precision" in denied else set()
    c = {key: value for key, value in c.items() if key not in denied}  # told first, and not what ran
    findings = [(f, [a for a in f["actions"] if a["framework"] in (c["framework"], "env")]) for f in fired if f["phase"] != "data"]
    for f, actions in findings:
        beside = "; ".join([as_flags(a) for a in actions] + [plain(w["set"]) for w in f["with"]])
        for a in actions:
            words = as_flags(a)
            for name, wrong in refused(words, a["note"], beside, c):
                if wrong:
                    yield "%s: %s: %s" % (name, f["rule"], words)
            for setting, value in assignments(a):
                if in_use(setting, value, c):
                    yield "in use: %s: %s %s" % (f["rule"], setting, value)
    yield from two_values(findings)
    yield from out_of_order(fired)


def run(words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def symptoms(c):
    """What memory events would have shown of the same run, as statements on its facts: the samples have next to none."""
    recomputes = c.get("recompute_granularity", "none") != "none"
    yield "GPU nearly full", ["UPDATE fact_memory SET headroom_share = 0.02, fragmentation_share = 0.2"]
    yield "much memory free", ["UPDATE fact_memory SET headroom_share = 0.45, recompute_share = %g" % (0.1 if recomputes else 0)]
    yield "allocator", ["UPDATE fact_memory SET headroom_share = 0.08, alloc_share = 0.1", "UPDATE fact_idle SET share = 0.1 WHERE cause = 'alloc'",
                        "UPDATE fact_run SET cause = 'allocator', loss = 'memory', wall = 'memory', verdict_kind = 'dominant'"]
    if recomputes:
        yield "recompute leads", ["UPDATE fact_memory SET headroom_share = 0.2, recompute_share = 0.2",
                                  "UPDATE fact_run SET cause = 'recompute', loss = 'memory', wall = 'memory', verdict_kind = 'dominant', latent_memory_wall = 0"]


def judged(job):
    """(held, actions, faults) of one drawing: as recorded, and with one symptom of memory put beside it."""
    number, story, inputs, c, folder = job
    config, facts = folder / ("run%d.json" % number), folder / ("run%d.wsdb" % number)
    config.write_text(json.dumps(c))
    report = run(["analyze", *inputs, "--config", config, "--no-what-if", "-o", facts, "--report", "json"])
    if isinstance(report, str):
        return False, 0, ["refused: " + report]
    fired = [f for f in report["findings"] if f["status"] == "fires"]
    stopped = [f["title"] + ": " + f["why"] for f in fired if KINDS.get(f["rule"]) == "error" and f["phase"] == "data"]
    if stopped:
        if VERBOSE:
            print("could not have started:", stopped[0], json.dumps(c))
        return False, 0, []
    others = list(symptoms(c))
    name, statements = others[number % len(others)]
    with sqlite3.connect(facts) as link:
        for statement in statements:
            link.execute(statement)
    link.close()
    again = [f for f in run(["report", facts, "--report", "json"])["findings"] if f["status"] == "fires"]
    facts.unlink()
    count = sum(len(f["actions"]) for f in fired + again if f["phase"] != "data")
    return True, count, ["%s (%s, %s)" % (fault, story, how) for how, one in (("as recorded", fired), (name, again)) for fault in faults_of(one, c)]


KINDS = {f"{p.parent.name}/{p.stem}": json.loads(p.read_text()).get("kind") for p in pathlib.Path(ROOT, "rules").glob("*/*.json") if not p.name.endswith(".cases.json")}
VERBOSE = "VERBOSE" in os.environ


def sizes_of(inputs):
    """What a recording shows of its parallel sizes."""
    run_facts = run(["analyze", *inputs, "--no-what-if", "--report", "json"])["run"]
    sizes = {key: int(run_facts["config"][key]) for key in ("ep", "tp", "pp", "cp") if int(run_facts["config"].get(key, 1)) > 1}
    return sizes


def main():
    draw = random.Random(SEED)
    faults, held, actions = {}, 0, 0
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        scratch = pathlib.Path(scratch)
        stories = list(advice_draw.stories(ROOT, scratch))
        sizes = list(pool.map(lambda s: sizes_of(s[1]), stories))
        jobs = []
        for i in range(COUNT):
            at = i % len(stories)
            jobs.append((i, stories[at][0], stories[at][1], advice_draw.drawn(draw, sizes[at]), scratch))
        for job, (holds, count, found) in zip(jobs, pool.map(judged, jobs)):
            held, actions = held + holds, actions + count
            for fault in found:
                faults.setdefault(fault, job[3])
    print("%d configurations, %d that could have started the run, %d actions, %d faults" % (COUNT, held, actions, len(faults)))
    for fault, c in sorted(faults.items()):
        print(fault, json.dumps(c) if VERBOSE or "--json" in sys.argv else "")
    return 1 if faults or held < COUNT // 2 or actions < COUNT else 0


sys.exit(main())
