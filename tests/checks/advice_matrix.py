#!/usr/bin/env python3
"""Random run configurations x sample stories against the conflict matrix: advice_matrix.py WALLSIGHT CHECKOUT [COUNT] [SEED]

Configurations are drawn setting by setting, so that levers meet that nobody thought of together. Where the configuration
could have started the run, no action may ask for what Megatron-LM refuses beside the settings in force (unless its own
note says what to undo first), for what is in use, or for a flag that the stated release has not."""
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

PROGRAM, ROOT = sys.argv[1], sys.argv[2]
COUNT, SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 80, int(sys.argv[4]) if len(sys.argv) > 4 else 7
VALUES = {
    "ep": [1, 4, 8], "tp": [1, 2, 4], "pp": [1, 2, 4], "vpp": [None, None, 2], "cp": [1, 1, 2], "num_experts": [None, 64], "moe_grouped_gemm": [None, True, False],
    "moe_token_dispatcher_type": [None, "alltoall", "flex", "allgather"], "moe_flex_dispatcher_backend": [None, "deepep", "hybridep"],
    "overlap_moe_expert_parallel_comm": [None, False, True], "recompute_granularity": [None, "none", "selective", "full"],
    "recompute_modules": [None, ["moe"], ["layernorm"], ["core_attn"], ["moe_act", "layernorm"]], "cuda_graph_impl": [None, "none", "transformer_engine", "full_iteration"],
    "cuda_graph_modules": [None, ["attn"], ["moe_router", "moe_preprocess"]], "fp8_format": [None, "hybrid"], "fp8_recipe": [None, "delayed", "tensorwise"],
    "fine_grained_activation_offloading": [None, True], "offload_modules": [None, ["core_attn"], ["expert_fc1", "moe_act"]], "optimizer_cpu_offload": [None, False, True],
    "use_distributed_optimizer": [None, True, False], "expandable_segments": [None, True, False], "nccl_ub": [None, True], "manual_gc": [None, True],
    "megatron_fsdp": [None, None, True], "moe_shared_expert_overlap": [None, True], "shared_expert_size": [None, 2048], "overlap_grad_reduce": [None, True, False],
    "overlap_param_gather": [None, True, False], "moe_pad_expert_input_to_capacity": [None, None, True], "framework_version": [None, "0.12", "0.15", "0.16", "0.18"],
    "cpu_offloading_layers": [None, None, None, 2],
}
SINCE = {row["flag"]: row["since"] for row in json.load(open(os.path.join(ROOT, "rules", "frameworks.json")))["flags"]}


def number(version):
    return [int(part) for part in version.split(".")]


def refused(words, note, beside, c):
    """What is wrong with an action, given the settings in force: (name, is it). Words as flags: dashes, no case."""
    modules, delayed = c.get("recompute_modules", []), c.get("fp8_recipe", "delayed") == "delayed"
    recompute = "recompute-modules" in words
    split = c["tp"] > 1 or c["cp"] > 1
    version = c.get("framework_version")

    def has(pattern):
        return re.search(pattern, words) is not None

    overlap, graphs = has("overlap-moe-expert-parallel-comm"), has("cuda-graph-impl.* \"?transformer-engine")
    yield "expert overlap under full recompute", overlap and c.get("recompute_granularity") == "full" and "without them" not in note
    yield "expert overlap beside recompute of moe", overlap and "moe" in modules and "only with" not in note
    yield "expert overlap beside that of shared experts", overlap and c.get("moe_shared_expert_overlap") and "shared" not in note
    yield "shared-expert overlap beside expert overlap", has("moe-shared-expert-overlap( true|$)") and c.get("overlap_moe_expert_parallel_comm")
    yield "layer graphs under full recompute", graphs and c.get("recompute_granularity") == "full"
    yield "layer graphs beside layer offload", graphs and c.get("cpu_offloading_layers")
    yield "graph of the router beside recompute of moe", graphs and has("moe-router") and "moe" in modules and not re.search("recompute-modules without .?moe", beside)
    yield "recompute beside layer offload", has("recompute-granularity.*selective") and c.get("cpu_offloading_layers")
    yield "module offload beside layer offload", has("fine-grained") and c.get("cpu_offloading_layers")
    yield "moe_act without grouped GEMM", recompute and has("moe-act") and c.get("moe_grouped_gemm") is False
    yield "recompute under delayed scaling", recompute and has("moe-act|layernorm") and c.get("fp8_format") and delayed and not re.search("fp8-recipe|current-scaling", beside)
    yield "FP8 parameter gather beside optimizer offload", has("fp8-param-gather") and c.get("optimizer_cpu_offload") and not delayed
    yield "DeepEP beside padding", has("deepep") and c.get("moe_pad_expert_input_to_capacity")
    yield "expandable segments beside registered buffers", has("expandable-segments:true") and c.get("nccl_ub")
    yield "registered buffers beside expandable segments", has("nccl-ub") and c.get("expandable_segments")
    yield "one connection under FSDP", words == "cuda-device-max-connections 1" and c.get("megatron_fsdp")
    yield "many connections beside TP or CP", has("^cuda-device-max-connections (8|32)") and split and not re.search("wants 1|needs it", note) and not c.get("megatron_fsdp")
    yield "parameter gather without gradient overlap", has("overlap-param-gather") and c.get("overlap_grad_reduce") is False and not has("overlap-grad-reduce")
    yield "parameter gather without distributed optimizer", has("overlap-param-gather") and c.get("use_distributed_optimizer") is False and not has("use-distributed-optimizer")
    yield "BF16 moments without distributed optimizer", has("use-precision-aware-optimizer") and not c.get("use_distributed_optimizer") and "distributed" not in words + note
    yield "virtual stages without stages", has("num-virtual-stages|virtual-pipeline") and c["pp"] == 1
    yield "virtual stages in use", has("num-virtual-stages|virtual-pipeline") and c.get("vpp", 1) > 1
    yield "tensor parallel overlap without TP", has("tp-comm-overlap") and c["tp"] == 1
    yield "grouped GEMM in use", has("moe-grouped-gemm") and c.get("moe_grouped_gemm")
    for flag in re.findall("--[a-z][a-z0-9-]+", words if version else ""):
        yield "%s before %s" % (flag, SINCE.get(flag)), flag in SINCE and number(version) < number(SINCE[flag]) and "not in " + version not in note


def as_flags(action):
    return (action["set"] + " " + action["to"]).strip().replace("_", "-").lower()


def main():
    draw = random.Random(SEED)
    stories = [s for s in sorted(os.listdir(os.path.join(ROOT, "samples", "kineto"))) if glob.glob(os.path.join(ROOT, "samples", "kineto", s, "*.json.gz"))]
    faults, held, actions = {}, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "run.json")
        for _ in range(COUNT):
            c = {key: value for key, value in ((key, draw.choice(values)) for key, values in VALUES.items()) if value is not None}
            if c.get("recompute_granularity") != "selective":
                c.pop("recompute_modules", None)
            c.update(framework=draw.choice(["megatron_lm", "megatron_bridge"]), seq_len=4096)
            with open(path, "w") as f:
                json.dump(c, f)
            story = draw.choice(stories)
            inputs = sorted(glob.glob(os.path.join(ROOT, "samples", "kineto", story, "*.json.gz")))
            done = subprocess.run([PROGRAM, "analyze", *inputs, "--config", path, "--no-what-if", "--report", "json"], capture_output=True, text=True)
            if done.returncode != 0:
                faults["refused: %s" % done.stderr.strip()] = c
                continue
            fired = [f for f in json.loads(done.stdout)["findings"] if f["status"] == "fires"]
            if any(f["title"].startswith("this is not the configuration") for f in fired):
                continue
            held += 1
            denied = {a["set"] for f in fired if f["rule"] == "configuration/not_in_effect" for a in f["actions"]}
            c = {key: value for key, value in c.items() if key not in denied}  # told first, and not what ran
            for f in fired:
                said = [a for a in f["actions"] if a["framework"] in (c["framework"], "env")] if f["phase"] != "data" else []
                beside = "; ".join(as_flags(a) for a in said)
                for a in said:
                    actions += 1
                    words = as_flags(a)
                    for name, wrong in refused(words, a["note"], beside, c):
                        if wrong:
                            faults.setdefault("%s: %s: %s (%s)" % (name, f["rule"], words, story), c)
    print("%d configurations, %d that could have started the run, %d actions, %d faults" % (COUNT, held, actions, len(faults)))
    for fault, c in sorted(faults.items()):
        print(fault, json.dumps(c))
    return 1 if faults or held < COUNT // 20 or actions < COUNT // 4 else 0


sys.exit(main())
