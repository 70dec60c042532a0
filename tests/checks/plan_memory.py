#!/usr/bin/env python3
"""The memory estimate of wallsight plan against published figures: plan_memory.py WALLSIGHT

Prints a table with the error of every case. Where all inputs are stated the estimate must be within 10 %. Where one is not,
the case names it and gives the estimates over its plausible values: the published figure must lie between them, or within
10 % of the nearest. GiB throughout: the published GB of arXiv 2603.07685 are GiB by their arithmetic, those of Megatron-Bridge are 10^9.

What is not stated:
- FP8 activations of DeepSeek-V3 ("about 16 GB"): whether the output projection of attention keeps its quantised input
  beside the 16-bit output that the attention kernel's backward pass needs anyway, one byte x heads x v a token and layer.
- Llama 3 70B: the published recipe gives TP 4, PP 4, VPP 5, sequence 4096, micro-batch 1, global batch 32 and no recompute.
  Not said of the measured run: the type of the gradients (FP32, or BF16 as other recipes have it), whether FP8 weights are
  kept as such, and the number of virtual stages (another figure of the same page differs by it alone).
"""
import json
import os
import subprocess
import sys
import tempfile

GIB = 1 << 30
DEEPSEEK = {"model": "deepseek_v3_no_mtp", "framework": "megatron_lm", "gpus": 256, "tp": 1, "cp": 1, "pp": 4, "vpp": 4, "ep": 64, "etp": 1, "seq_len": 4096,
            "micro_batch": 1, "global_batch": 8192, "bf16": True, "grad_reduce_in_fp32": True, "use_distributed_optimizer": True,
            "pipeline_layout": "Et*4|(t*4|)*14tL"}
LLAMA = {"model": "llama3_70b", "framework": "megatron_bridge", "gpus": 32, "cp": 1, "vpp": 5, "seq_len": 4096, "micro_batch": 1, "global_batch": 32,
         "mixed_precision": "bf16_with_fp8_current_scaling_mixed", "use_distributed_optimizer": True, "sequence_parallel": True}


def plan(program, config):
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "case.json")
        with open(path, "w") as f:
            json.dump(config, f)
        return json.loads(subprocess.run([program, "plan", path, "--report", "json"], capture_output=True, text=True, check=True).stdout)


def main():
    program = sys.argv[1]

    def rank(config, index):
        return plan(program, config)["memory"]["rank_totals_bytes"][index] / GIB

    def with_(base, **more):
        return dict(base, **more)

    def freed(base, module):  # on the third pipeline rank, whose figures the paper prints
        return rank(base, 2) - rank(with_(base, recompute_granularity="selective", recompute_modules=[module]), 2)

    def fullest(config):
        return max(plan(program, config)["memory"]["rank_totals_bytes"]) / GIB

    def over(base, **choices):  # the estimate for every combination of what is not stated
        out = [base]
        for key, values in choices.items():
            out = [with_(b, **({key: v} if v is not None else {})) for b in out for v in values]
        return [fullest(c) for c in out]

    fp8 = with_(DEEPSEEK, fp8_format="e4m3", fp8_recipe="mxfp8")
    before = with_(DEEPSEEK, memory_efficient_permutation=False)
    moments = rank(DEEPSEEK, 2) - rank(with_(DEEPSEEK, use_precision_aware_optimizer=True, exp_avg_dtype="bf16", exp_avg_sq_dtype="bf16"), 2)
    saved = rank(DEEPSEEK, 2) - rank(fp8, 2)
    projection = 128 * 128 * 4096 * 60 / GIB  # heads x v x tokens x layers in flight
    llama = dict(grad_reduce_in_fp32=(True, False), fp8_param_gather=(False, True), vpp=(1, 5, 10))
    cases = [
        ("DeepSeek-V3, 256 GPUs, before any saving, one GPU", 199.5, [rank(before, 2)], ""),
        ("  permutation without the experts' output", 26.3, [rank(before, 2) - rank(DEEPSEEK, 2)], ""),
        ("  recompute of mla_up_proj", 30.4, [freed(DEEPSEEK, "mla_up_proj")], ""),
        ("  recompute of moe_act, FP8", 3.8, [freed(fp8, "moe_act")], ""),
        ("  recompute of layernorm, FP8", 8.2, [freed(fp8, "layernorm")], ""),
        ("  moments in BF16 (10 to 12 published)", 11.0, [moments], ""),
        ("  FP8 activations", 16.0, [saved, saved + projection], "input of the output projection in FP8"),
        ("Llama 3 70B SFT, 32 H100, TP 4 PP 4", 58.8e9 / GIB, over(with_(LLAMA, tp=4, pp=4), **llama), "gradients, FP8 weights, virtual stages"),
        ("Llama 3 70B SFT, 32 H100, TP 8 PP 4", 50.2e9 / GIB, over(with_(LLAMA, tp=8, pp=4), **llama), "gradients, FP8 weights, virtual stages"),
    ]
    wrong = 0
    for name, published, estimates, unknown in cases:
        lo, hi = min(estimates), max(estimates)
        if unknown:
            nearest = min(max(published, lo), hi) / published - 1
            bad = abs(nearest) > 0.10
            shown = "%.1f to %.1f GiB  %+.1f %%  not stated: %s" % (lo, hi, 100 * nearest, unknown)
        else:
            bad = abs(lo / published - 1) > 0.10
            shown = "%.1f GiB  %+.1f %%" % (lo, 100 * (lo / published - 1))
        wrong += bad
        print("%-52s published %6.1f GiB  estimate %s%s" % (name, published, shown, "  WRONG" if bad else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
