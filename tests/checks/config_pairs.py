#!/usr/bin/env python3
"""Symptom x configuration: config_pairs.py WALLSIGHT CASES_FOLDER SAMPLES_FOLDER

Every case with a known answer is analyzed with a Megatron-LM, a Bridge and a PyTorch configuration that add nothing to
the symptom: the leading action must stay in its allowed set. Then every sample story with configurations that forbid or
already use a lever: no action may ask for what the configuration has, and what the framework refuses together may only
stand in the list after the action that undoes its opposite (the conflict matrix of Megatron-LM's own checks)."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from program import EVERY, share

PROGRAM, CASES, SAMPLES = sys.argv[1], sys.argv[2], sys.argv[3]
HERE = os.path.dirname(os.path.abspath(__file__))

NEUTRAL = {
    "megatron.sh": "export CUDA_DEVICE_MAX_CONNECTIONS=8\npython pretrain_gpt.py --num-layers 8 --micro-batch-size 1 --moe-router-dtype fp32 "
                   "--use-distributed-optimizer --sequence-parallel\n",
    "bridge.yaml": "model: {num_layers: 8, moe_router_dtype: fp32, sequence_parallel: true}\ntrain: {micro_batch_size: 1}\nddp: {use_distributed_optimizer: true}\n",
    "pytorch.json": '{"framework": "pytorch", "num_layers": 8, "micro_batch": 1}',
}

# name: (configuration, what no action may set, [(action that must come first, action that needs it undone)])
PAIRS = {
    "full recompute": ({"recompute_granularity": "full", "ep": 4}, None, [("recompute-granularity selective|recompute_granularity", "overlap-moe-expert-parallel-comm"),
                                                                           ("recompute-granularity selective|recompute_granularity", "cuda-graph-impl transformer_engine")]),
    "recompute of moe": ({"recompute_granularity": "selective", "recompute_modules": ["moe"], "ep": 4}, None, [("--recompute-modules|recompute_granularity", "overlap-moe-expert-parallel-comm")]),
    "expert overlap on": ({"overlap_moe_expert_parallel_comm": True, "ep": 4}, "^--overlap-moe-expert-parallel-comm|^--moe-shared-expert-overlap", []),
    "DeepEP in use": ({"moe_token_dispatcher_type": "flex", "moe_flex_dispatcher_backend": "deepep", "ep": 4}, None, []),
    "gradient overlap on": ({"overlap_grad_reduce": True, "overlap_param_gather": True}, "^--overlap-grad-reduce|^--overlap-param-gather", []),
    "expandable segments": ({"expandable_segments": True}, "expandable_segments:True", []),
    "manual gc": ({"manual_gc": True, "manual_gc_interval": 100}, "^--manual-gc( |$)", []),
    "graphs on": ({"cuda_graph_impl": "full_iteration", "check_for_nan": False}, None, []),
    "MXFP8 on": ({"bf16": True, "fp8_format": "e4m3", "fp8_recipe": "mxfp8"}, None, []),
    "layer offload": ({"cpu_offloading_layers": 2, "pp": 1, "recompute_granularity": "none"},
                      "recompute-granularity|fine-grained-activation|cuda-graph-impl (transformer_engine|local)", []),
    "experts padded": ({"moe_token_dispatcher_type": "alltoall", "moe_pad_expert_input_to_capacity": True, "moe_expert_capacity_factor": 1.0, "ep": 4},
                       "deepep|ncclep|moe_preprocess", []),
    "optimizer on the host": ({"optimizer_cpu_offload": True, "use_precision_aware_optimizer": True, "fp8_format": "e4m3", "fp8_recipe": "blockwise"},
                              "fp8-param-gather", []),
    "registered buffers": ({"nccl_ub": True}, "expandable_segments:True", []),
    "Megatron-FSDP": ({"megatron_fsdp": True}, "CUDA_DEVICE_MAX_CONNECTIONS 1( |$)", []),
    "delayed scaling": ({"fp8_format": "hybrid", "fp8_recipe": "delayed", "num_experts": 8, "moe_grouped_gemm": True}, None, [("fp8-recipe|^precision$", "moe_act|layernorm")]),
    "layer graphs on": ({"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": ["moe_router", "moe_preprocess"], "ep": 4, "num_experts": 8},
                        "recompute-granularity full|recompute-modules (.* )?moe( |$)", [("NCCL_GRAPH_REGISTER", "expandable_segments:True")]),
    "graphs of padded FP8": ({"cuda_graph_impl": "transformer_engine", "cuda_graph_modules": ["moe_router", "moe_preprocess"], "moe_token_dispatcher_type": "alltoall",
                              "fp8_format": "e4m3", "fp8_recipe": "blockwise", "num_experts": 8, "ep": 4}, "padding-for-quantization", []),
    "no grouped GEMM": ({"num_experts": 8, "ep": 4, "moe_grouped_gemm": False}, "moe_act", []),
    "a dense model": ({"num_layers": 8, "ffn_hidden_size": 1024}, "moe_act|moe-router-fusion|moe-permute|moe-grouped|modules moe|expert-tensor", []),
}


def inputs_of(story, scratch):
    """A sample of one file is one rank of the job that the configuration starts, not the whole of it."""
    files = sorted(glob.glob(os.path.join(SAMPLES, story, "*.json.gz")))
    return [shutil.copy(files[0], os.path.join(scratch, "rank0.json.gz"))] if len(files) == 1 else files


def analyze(inputs, config_path):
    done = subprocess.run([PROGRAM, "analyze", *inputs, "--config", config_path, "--no-what-if", "--report", "json"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr
    return json.loads(done.stdout), ""


def check_answers(scratch, faults):
    answers = json.load(open(os.path.join(HERE, "case_answers.json")))
    count = 0
    recorded = {name: sorted(glob.glob(os.path.join(CASES, name, "rank*"))) for name in sorted(answers)}
    for name in share(name for name, inputs in recorded.items() if inputs):
        answer, inputs = answers[name], recorded[name]
        for config, text in NEUTRAL.items():
            path = os.path.join(scratch, config)
            with open(path, "w") as f:
                f.write(text.rstrip("\n") + " " + answer["flags"] + "\n" if "flags" in answer and config.endswith(".sh") else text)
            report, error = analyze(inputs, path)
            count += 1
            if report is None:
                faults.append("%s with %s: %s" % (name, config, error.strip()))
                continue
            fired = [f for f in report["findings"] if f["status"] == "fires" and f["rule"] != "configuration/not_in_effect"]
            lead = json.dumps(fired[0]) if fired else ""
            if "leads" in answer and not re.search(answer["leads"], lead, re.I):
                faults.append("%s with %s: leads with %s" % (name, config, lead[:120]))
            actions = [a["set"] + " " + a["to"] for a in fired[0]["actions"]] if fired else []
            if "never_first" in answer and any(re.search(answer["never_first"], a, re.I) for a in actions):
                faults.append("%s with %s: %s may not lead" % (name, config, fired[0]["rule"]))
    return count


def check_pairs(scratch, faults):
    count = 0
    for story in sorted(os.listdir(SAMPLES)):
        inputs = inputs_of(story, scratch)
        if not inputs:
            continue
        for name, (config, in_use, orders) in share(sorted(PAIRS.items())):
            path = os.path.join(scratch, "pair.json")
            with open(path, "w") as f:
                json.dump(dict({"framework": "megatron_lm"}, **config), f)
            report, error = analyze(inputs, path)
            count += 1
            if report is None:
                faults.append("%s x %s: %s" % (story, name, error.strip()))
                continue
            sets = [[(a["set"] + " " + a["to"]).strip() for a in f["actions"] if a["framework"] in ("megatron_lm", "env")] for f in report["findings"] if f["status"] == "fires"]
            flat = [s for one in sets for s in one]
            # A setting that the recording denies is told before anything that it would forbid.
            for one, f in zip(sets, (f for f in report["findings"] if f["status"] == "fires")):
                one += [a["set"] for a in f["actions"] if f["rule"] == "configuration/not_in_effect"]
            if in_use:
                for s in flat:
                    if re.search(in_use, s):
                        faults.append("%s x %s: advises %s, which is in use or excluded" % (story, name, s))
            for first, then in orders:
                then_at = [i for i, one in enumerate(sets) if any(re.search(then, s) for s in one)]
                first_at = [i for i, one in enumerate(sets) if any(re.search(first, s) for s in one)]
                if then_at and (not first_at or first_at[0] > then_at[0]):
                    faults.append("%s x %s: %s before %s" % (story, name, then, first))
    return count


def check_in_use(scratch, faults):
    """With every lever of the table in use, no action asks for one of them."""
    table = json.load(open(os.path.join(HERE, "..", "..", "rules", "frameworks.json")))["in_use"]
    path = os.path.join(scratch, "all.json")
    with open(path, "w") as f:
        json.dump(dict({"framework": "megatron_lm", "ep": 4}, **{column.split("=")[0]: column.split("=")[1] if "=" in column else True for column in table.values()}), f)
    for story in share(sorted(os.listdir(SAMPLES))):
        inputs = inputs_of(story, scratch)
        report = analyze(inputs, path)[0] if inputs else {"findings": []}
        if any(f["status"] == "fires" and f["rule"] == "configuration/another_run" for f in report["findings"]):
            continue  # EP 4 on fewer GPUs: what the file has in use is not this run's
        for finding in report["findings"]:
            if finding["status"] != "fires" or finding["rule"].startswith("configuration/"):
                continue
            for action in finding["actions"]:
                asked = [flag for flag in table if re.search(re.escape(flag) + r"(?![\w-])", action["set"])]
                if action["framework"] == "megatron_lm" and asked and not action["set"].startswith("set already: "):
                    faults.append("%s: %s asks for %s, which is in use" % (story, finding["rule"], asked))


def main():
    faults = []
    with tempfile.TemporaryDirectory() as scratch:
        answers, pairs = check_answers(scratch, faults), check_pairs(scratch, faults)
        check_in_use(scratch, faults)
    print("%d cases with configurations, %d pairs of symptom and configuration, %d faults" % (answers, pairs, len(faults)))
    print("\n".join(faults))
    return 1 if faults or answers * EVERY < 9 or pairs * EVERY < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
