#!/usr/bin/env python3
"""Random launch scripts with several faults at once: plan_faults.py WALLSIGHT [COUNT [SEED]]

`plan` must give no setting of Megatron-LM twice, in one value or in two; no method for recompute beside
selective recompute; no flag twice in one action; no value that is not known; and every item that
stops the job a fix, or the item that has it.
"""
import json
import pathlib
import random
import re
import sys
import tempfile

import program

# The release writes these for its own sake, whatever else is said of them.
OF_THE_RELEASE = re.compile(r"^(leave it out|\(in Bridge)")
VALUES = {
    "num-layers": [30, 32, 61], "tensor-model-parallel-size": [1, 2, 4, 8], "pipeline-model-parallel-size": [1, 2, 4, 8],
    "context-parallel-size": [1, 2, 4], "expert-model-parallel-size": [1, 2, 8, 16], "expert-tensor-parallel-size": [1, 2],
    "num-layers-per-virtual-pipeline-stage": [1, 2, 3], "num-virtual-stages-per-pipeline-rank": [2, 3],
    "micro-batch-size": [1, 2, 3], "global-batch-size": [64, 100, 256], "num-experts": [8, 60, 64], "moe-router-topk": [2, 8],
    "moe-token-dispatcher-type": ["allgather", "alltoall", "flex"], "moe-flex-dispatcher-backend": ["deepep", "hybridep"],
    "recompute-granularity": ["full", "selective"], "recompute-method": ["uniform", "block"], "recompute-num-layers": [1, 2],
    "recompute-modules": ["core_attn", "moe", "moe_act layernorm", "up_proj norm", "mlp"],
    "fp8-format": ["hybrid", "e4m3"], "fp8-recipe": ["delayed", "tensorwise", "mxfp8", "blockwise"],
    "cuda-graph-impl": ["local", "transformer_engine", "full_iteration"],
    "cuda-graph-scope": ["attn", "moe moe_router", "mlp", "moe_preprocess", "attn moe_router moe_preprocess", "full"],
    "seq-length": [4096, 32768, 131072], "moe-expert-capacity-factor": [1.0], "offload-modules": ["moe_act", "core_attn", "attn_proj expert_fc1"],
    "cpu-offloading-num-layers": [2], "moe-router-dtype": ["fp32"], "cp-comm-type": ["a2a", "p2p"],
}
SWITCHES = """sequence-parallel use-distributed-optimizer overlap-grad-reduce overlap-param-gather tp-comm-overlap
    overlap-moe-expert-parallel-comm delay-wgrad-compute moe-enable-deepep moe-grouped-gemm moe-permute-fusion moe-router-fusion
    optimizer-cpu-offload use-megatron-fsdp use-torch-fsdp2 enable-cuda-graph external-cuda-graph fine-grained-activation-offloading
    moe-pad-expert-input-to-capacity fp8-param-gather moe-shared-expert-overlap multi-latent-attention mtp-num-layers=1 moe-paged-stash
    fake-init-process-group overlap-p2p-comm""".split()


def script(draw):
    words = ["--hidden-size 4096 --num-attention-heads 32 --bf16"]
    words += [f"--{name} {draw.choice(values)}" for name, values in VALUES.items() if draw.random() < 0.5]
    words += [f"--{name}" for name in SWITCHES if draw.random() < 0.3]
    return f"export CUDA_DEVICE_MAX_CONNECTIONS={draw.choice([1, 8, 32])}\ntorchrun pretrain_gpt.py {' '.join(words)}\n"


def stated(draw):
    """The words that go with a script: GPUs, platform and, or not, the release."""
    given = ["--gpus", draw.choice([8, 16, 64, 96, 128]), "--platform", draw.choice(["a100", "h100", "b200", "gb200"])]
    release = draw.choice([None, "0.12", "0.14", "0.15", "0.16", "0.17", "0.18"])
    return given + (["--framework-version", release] if release else [])


def settings(action):
    """(flag, value) of what an action of Megatron-LM sets."""
    if action["framework"] != "megatron_lm":
        return []
    flags = re.findall(r"(--[a-z0-9-]+)((?: (?!--)\S+)*)", action["set"])
    return [(name, value.strip() or (action["to"] if i == len(flags) - 1 else "")) for i, (name, value) in enumerate(flags)]


def faults_of(plan):
    out, told, method, selective = [], {}, False, False
    for item, finding in enumerate(plan["findings"]):
        for action in finding["actions"]:
            if re.search(r"\bunknown\b", action["set"] + " " + action["to"]):
                out.append(f"{finding['rule']}: {action['set']} {action['to']}")
            twice = re.findall(r"(--[a-z0-9-]+)(?= |$)(?=.* \1( |$))", action["set"] + " " + action["to"])
            if action["framework"] == "megatron_lm" and twice:
                out.append(f"{finding['rule']}: {twice[0][0]} twice in {action['set']} {action['to']}")
            for name, value in settings(action):
                if OF_THE_RELEASE.match(value):
                    continue
                before = told.setdefault(name, (item, value, finding["rule"]))
                if before[0] != item:
                    out.append(f"{name}: {before[1]} by {before[2]}, {value} by {finding['rule']}")
        offered = {name for action in finding["actions"] for name, _ in settings(action)}
        method |= "--recompute-method" in offered
        selective |= any("--recompute-granularity selective" in action["set"] for action in finding["actions"])
        if finding["kind"] == "error" and not finding["actions"] and not finding["with"]:
            out.append(f"{finding['rule']}: no fix")
    if method and selective:
        out.append("--recompute-method by one item, and selective recompute, which forbids it, by another")
    return out


def main():
    binary, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 120
    draw, faults, errors = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1), {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, "run.sh")
        for _ in range(count // program.EVERY):
            path.write_text(script(draw))
            given = stated(draw)
            ran = program.run([binary, "plan", path, *given, "--report", "json"])
            if ran.code != 0:
                faults.setdefault(f"exit code {ran.code}: {ran.err.decode()}", path.read_text())
                continue
            plan = json.loads(ran.out)
            errors += sum(f["kind"] == "error" for f in plan["findings"])
            for fault in faults_of(plan):
                faults.setdefault(fault, f"{path.read_text()}{given}")
    for fault, where in faults.items():
        print(fault, where, sep="\n  ")
    print(f"{count // program.EVERY} scripts, {errors} settings that do not work, {len(faults)} faults")
    return 1 if faults or errors < count // program.EVERY else 0


if __name__ == "__main__":
    sys.exit(main())
