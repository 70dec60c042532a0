#!/usr/bin/env python3
"""Every known lever has a rule, or a reason why none is needed: levers_check.py CHECKOUT

tests/rules/levers.json names for each lever the rules that propose it or check its preconditions. The rules must exist and
their words must hold what sets the lever (WORDS, for those with a name of their own); rules on tuning must stand for some
lever or be listed as other advice. With ../shared/knowledge beside the checkout the levers are compared with its list."""
import glob
import json
import os
import sys

ROOT = sys.argv[1]
# What at least one of the lever's rules must say.
WORDS = {
    "alloc.expandable_segments": "expandable_segments:True", "opt.distributed": "--use-distributed-optimizer", "recompute.selective": "--recompute-modules",
    "opt.precision_aware": "--use-precision-aware-optimizer", "offload.activation.fine": "--fine-grained-activation-offloading",
    "offload.optimizer.cpu": "--optimizer-cpu-offload", "mem.nccl_footprint": "NCCL_NVLS_ENABLE", "par.vpp": "--num-virtual-stages-per-pipeline-rank",
    "par.pp_layout": "--pipeline-model-parallel-layout", "par.ep": "--expert-model-parallel-size", "par.etp": "--expert-tensor-parallel-size",
    "par.cp": "--context-parallel-size", "par.hcp": "--hierarchical-context-parallel-sizes", "par.mfsdp": "--use-megatron-fsdp",
    "disp.alltoall": "--moe-token-dispatcher-type", "disp.deepep": "deepep", "disp.hybridep": "hybridep", "disp.ncclep": "ncclep",
    "ovl.ep": "--overlap-moe-expert-parallel-comm", "ovl.delay_wgrad": "--delay-wgrad-compute", "ovl.shared_expert": "--moe-shared-expert-overlap",
    "ovl.grad_reduce": "--overlap-grad-reduce", "ovl.param_gather": "--overlap-param-gather", "ovl.tp": "--tp-comm-overlap",
    "comm.dtype": "--grad-reduce-in-bf16", "comm.buckets": "--ddp-bucket-size", "env.cdmc": "CUDA_DEVICE_MAX_CONNECTIONS",
    "env.ln_margin": "NVTE_FWD_LAYERNORM_SM_MARGIN", "env.nccl": "TORCH_NCCL_HIGH_PRIORITY", "comm.nccl_ub": "--use-nccl-ub",
    "prec.router_fp32": "--moe-router-dtype", "prec.fp8_tensor": "tensorwise", "prec.fp8_block": "blockwise", "prec.mxfp8": "mxfp8", "prec.nvfp4": "nvfp4",
    "prec.quant_pad": "--moe-router-padding-for-quantization", "fus.grouped_gemm": "--moe-grouped-gemm", "fus.permute": "--moe-permute-fusion",
    "fus.router": "--moe-router-fusion", "fus.ce": "--cross-entropy-loss-fusion", "bal.aux_free": "--moe-router-enable-expert-bias",
    "bal.drop_pad": "--moe-expert-capacity-factor", "host.gc": "--manual-gc", "host.affinity": "numactl", "host.dataloader": "--num-workers",
    "graph.te": "--cuda-graph-modules", "graph.full": "full_iteration", "graph.optimizer": "--optimizer-cuda-graph", "pt.ddp.bucket": "bucket_cap_mb",
    "pt.ddp.view": "gradient_as_bucket_view", "pt.ddp.static": "static_graph", "pt.ddp.no_sync": "no_sync", "pt.fsdp2.wrap": "fully_shard(block)",
    "pt.fsdp2.reshard": "reshard_after_forward=False", "pt.fsdp2.prefetch": "set_modules_to_forward_prefetch", "pt.fsdp2.mp": "MixedPrecisionPolicy",
    "pt.fsdp2.nosync": "set_requires_gradient_sync(False)", "pt.fsdp2.hsdp": "2D", "pt.fsdp2.offload": "CPUOffloadPolicy",
    "pt.fsdp2.zero_copy": "set_allocate_memory_from_process_group_for_comm", "pt.fsdp1": "FSDP1", "pt.ac": "torch.utils.checkpoint", "pt.compile": "torch.compile",
    "pt.cudagraph": "make_graphed_callables", "pt.loader": "num_workers", "pt.gc": "gc.collect()", "pt.alloc": "max_split_size_mb",
    "pt.nccl": "TORCH_NCCL_HIGH_PRIORITY", "pt.optim": "fused=True", "pt.async_tp": "async tensor parallelism",
}
# Rules on tuning that stand for no lever of the list: what to look at, or what nobody sets by a name.
OTHER = {"compute_host/attention_backend", "compute_host/unfused_attention", "compute_host/compute_bound", "compute_host/exposed_copies", "compute_host/gemm_shapes", "communication/ep_placement",
         "compute_host/host_work", "compute_host/remove_syncs", "compute_host/straggler_gpu", "compute_host/windows_driver_model", "compute_host/wait_before_own_work", "configuration/experts_need_sequence_parallel",
         "configuration/moe_recompute_and_offload", "configuration/moe_recompute_blocks_ep_overlap", "configuration/moe_recompute_blocks_router_graph",
         "configuration/another_run", "configuration/computes_in_fp32", "compute_host/gemm_16_bits",
         "configuration/precision_not_on_gpu", "configuration/exchange_setting_not_in_release", "configuration/flag_of_no_release", "configuration/setting_not_in_release", "configuration/software_too_old",
         "configuration/engine_too_old_for_precision"}
faults = []


def load(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as f:
        return json.load(f)


levers = load("tests", "rules", "levers.json")
rules = {}
for path in glob.glob(os.path.join(ROOT, "rules", "*", "*.json")):
    if not path.endswith(".cases.json"):
        rule = load(path)
        rules[rule["id"]] = rule
named = set()
for lever, entry in levers.items():
    if ("rules" in entry) == ("none" in entry) or not (entry.get("rules") or entry.get("none")):
        faults.append("%s: wants either rules or the reason why there is none" % lever)
    said = ""
    for name in entry.get("rules", []):
        named.add(name)
        if name not in rules:
            faults.append("%s: no rule %s" % (lever, name))
            continue
        said += " ".join(" ".join([a["set"], a.get("to", ""), a.get("note", "")]) for a in rules[name]["actions"]) + "\n"
    if lever in WORDS and WORDS[lever] not in said:
        faults.append("%s: none of its rules says %s" % (lever, WORDS[lever]))
faults += ["%s: in WORDS, but no lever" % lever for lever in WORDS if lever not in levers]
for name, rule in sorted(rules.items()):
    if rule["phase"] != "data" and name not in named and name not in OTHER:
        faults.append("%s: stands for no lever of tests/rules/levers.json" % name)
faults += ["%s: listed as other advice and as that of a lever" % name for name in sorted(OTHER & named)]
faults += ["%s: listed as other advice, but no rule" % name for name in sorted(OTHER - set(rules))]
source = os.path.join(ROOT, "..", "shared", "knowledge", "levers.json")
if os.path.exists(source):
    with open(source, encoding="utf-8") as f:
        known = {lever["id"] for lever in json.load(f)["levers"]}
    faults += ["%s: a lever without rule and without reason" % lever for lever in sorted(known - set(levers))]
    faults += ["%s: not a lever of the source" % lever for lever in sorted(set(levers) - known)]
print("%d levers: %d with rules, %d with the reason why not; %d rules" %
      (len(levers), sum("rules" in e for e in levers.values()), sum("none" in e for e in levers.values()), len(rules)))
print("\n".join(faults))
sys.exit(1 if faults or len(levers) < 80 else 0)
