"""Run configurations that could have started, drawn setting by setting for a recording; no test of its own.

A setting is kept where the settings so far and it pass what Megatron-LM's own checks say of them together: most drawings
then can be judged, and levers still meet that nobody thought of together."""
import glob
import os

from simulator import kineto, training

# Recordings with the parallelism that the samples lack: sizes as they show them.
SIMULATED = {
    "experts": {"ep": 4, "mib": {"ep": 64}, "bandwidth": {"ep": 40.0}},
    "experts, uneven": {"ep": 4, "mib": {"ep": 16}, "bandwidth": {"ep": 50.0}, "experts": [0.6, 0.8, 0.8, 1.8]},
    "experts, launches": {"ep": 4, "mib": {"ep": 0.05, "dp": 0.05}, "speed": 0.02, "layers": 6, "host_ns": 14000},
    "experts, graphs": {"ep": 4, "mib": {"ep": 0.05, "dp": 0.05}, "speed": 0.02, "graphs": True, "layers": 6, "host_ns": 14000},
    "experts and stages": {"ep": 2, "pp": 2, "micro_batches": 2, "mib": {"ep": 64}, "bandwidth": {"ep": 40.0}},
    "stages": {"pp": 4, "micro_batches": 4, "layers": 2, "mib": {"pp": 32}, "bandwidth": {"pp": 40.0}},
    "context": {"cp": 2, "mib": {"cp": 48}, "bandwidth": {"cp": 25.0}},
    "tensors": {"tp": 4, "mib": {"tp": 96}, "bandwidth": {"tp": 90.0}},
    "tensors and replicas": {"tp": 2, "dp": 2, "mib": {"tp": 96, "dp": 400}, "bandwidth": {"tp": 90.0, "dp": 20.0}},
    "replicas, sharded": {"dp": 4, "dp_style": "sharded", "mib": {"dp": 800}, "bandwidth": {"dp": 60.0}, "layers": 6},
    "recompute of experts": {"ep": 4, "recompute": True, "layers": 4},
    "collections": {"gc_ns": 30000000, "data_sync": True},
}
BITS = [None, True, False]
VALUES = {
    "vpp": [None, 2, 4], "moe_grouped_gemm": BITS, "moe_token_dispatcher_type": [None, "alltoall", "flex", "allgather"], "etp": [None, 1],
    "moe_flex_dispatcher_backend": [None, "deepep", "hybridep"], "overlap_moe_expert_parallel_comm": BITS, "delay_wgrad_compute": [None, True], "moe_router_dtype": [None, "fp32"],
    "moe_permute_fusion": [None, True], "moe_router_fusion": [None, True], "recompute_granularity": [None, "none", "selective", "selective", "full"],
    "recompute_modules": [["moe"], ["layernorm"], ["core_attn"], ["mlp"], ["moe_act"], ["moe_act", "layernorm"], ["mla_up_proj"], ["shared_experts"]],
    "cuda_graph_impl": [None, "none", "transformer_engine", "full_iteration"], "cuda_graph_modules": [None, ["attn"], ["moe_router"], ["moe_router", "moe_preprocess"], ["mlp"], ["moe"]],
    "fp8_format": [None, "hybrid"], "fp8_recipe": [None, "delayed", "tensorwise", "blockwise"], "fp8_param_gather": [None, True],
    "fine_grained_activation_offloading": [None, True], "offload_modules": [["core_attn"], ["expert_fc1", "moe_act"]], "optimizer_cpu_offload": [None, False, True],
    "use_precision_aware_optimizer": BITS, "exp_avg_dtype": [None, "bf16"], "use_distributed_optimizer": BITS, "expandable_segments": BITS, "nccl_ub": [None, True], "nccl_graph_register": [None, 0],
    "manual_gc": [None, True], "manual_gc_interval": [None, 50], "megatron_fsdp": [None, None, None, True], "multi_latent_attention": [None, True], "shared_expert_size": [None, 2048],
    "moe_shared_expert_overlap": [None, True], "overlap_grad_reduce": BITS, "overlap_param_gather": BITS, "sequence_parallel": BITS, "tp_comm_overlap": BITS,
    "moe_expert_capacity_factor": [None, None, 1.0], "moe_pad_expert_input_to_capacity": [None, True], "moe_router_padding_for_quantization": [None, True],
    "cpu_offloading_layers": [None, None, None, 2], "cp_comm_type": [None, "p2p", "a2a"], "check_for_nan": [None, False], "optimizer_cuda_graph": [None, True],
    "cross_entropy_loss_fusion": [None, True], "cuda_device_max_connections": [None, 1, 8], "num_workers": [None, 2], "micro_batch": [None, 1, 2], "moe_top_k": [2, 8],
    "layernorm_fwd_sm_margin": [None, 16], "layernorm_bwd_sm_margin": [None, 16], "framework_version": [None, "0.12", "0.15", "0.16", "0.18"],
}
IN_EXPERTS = {"moe", "moe_act", "shared_experts", "moe_router", "moe_preprocess", "expert_fc1"}
RELEASES = {"overlap_moe_expert_parallel_comm": 14, "delay_wgrad_compute": 13, "moe_router_fusion": 14, "nccl_ub": 13, "fine_grained_activation_offloading": 16,
            "moe_router_padding_for_quantization": 16, "moe_flex_dispatcher_backend": 16}


def startable(c):
    """What could not have run: true for each thing that the framework's own checks let pass."""
    experts, mods = c.get("num_experts", 0) > 1, set(c.get("recompute_modules", []))
    graphs, scopes = c.get("cuda_graph_impl", "none"), set(c.get("cuda_graph_modules", []))
    away, pad = set(c.get("offload_modules", [])), c.get("moe_pad_expert_input_to_capacity")
    recompute, narrow = c.get("recompute_granularity", "none"), c.get("fp8_format") is not None
    delayed, overlap, dist = narrow and c.get("fp8_recipe", "delayed") == "delayed", c.get("overlap_moe_expert_parallel_comm"), c.get("use_distributed_optimizer")
    layers, kind, backend = c.get("cpu_offloading_layers"), c.get("moe_token_dispatcher_type"), c.get("moe_flex_dispatcher_backend")
    queues, release = c.get("cuda_device_max_connections"), int(c.get("framework_version", "0.99").split(".")[1])
    yield experts or not (mods | scopes | away) & IN_EXPERTS
    yield experts or not any(key.startswith("moe_") or key in ("shared_expert_size", "overlap_moe_expert_parallel_comm", "etp") for key in c)
    yield not mods or recompute == "selective"
    yield "mla_up_proj" not in mods or c.get("multi_latent_attention")
    yield "shared_experts" not in mods or (c.get("shared_expert_size") and not c.get("moe_shared_expert_overlap"))
    yield "moe_act" not in mods or c.get("moe_grouped_gemm")
    yield not (delayed and mods & {"moe_act", "layernorm"})
    yield recompute != "full" or not (overlap or layers or graphs == "transformer_engine")
    yield "moe" not in mods or not (overlap or away & {"expert_fc1", "moe_act"} or (graphs == "transformer_engine" and (not scopes or "moe_router" in scopes)))
    yield not layers or (c.get("pp", 1) == 1 and recompute == "none" and not c.get("fine_grained_activation_offloading") and graphs in ("none", "full_iteration"))
    yield not away or c.get("fine_grained_activation_offloading")
    yield not scopes or graphs == "transformer_engine"
    yield "moe_preprocess" not in scopes or not (kind == "alltoall" and (c.get("moe_router_padding_for_quantization") or c.get("moe_expert_capacity_factor")))
    yield not (graphs == "transformer_engine" and c.get("expandable_segments")) or c.get("nccl_graph_register") == 0
    yield graphs != "full_iteration" or (c.get("check_for_nan") is False and (not experts or pad) and not away)
    yield not overlap or (c.get("ep", 1) > 1 and kind in ("alltoall", "flex") and not c.get("moe_shared_expert_overlap") and (c.get("pp", 1) == 1 or c.get("vpp", 1) > 1) and not scopes & {"moe", "mlp"})
    yield not c.get("delay_wgrad_compute") or overlap
    yield not backend or kind == "flex"
    yield not c.get("moe_shared_expert_overlap") or (c.get("shared_expert_size") and kind == "alltoall")
    yield not pad or (c.get("moe_expert_capacity_factor") and backend != "deepep" and kind != "allgather")
    yield not c.get("moe_expert_capacity_factor") or kind in ("alltoall", "flex")
    yield not c.get("vpp") or c.get("pp", 1) > 1
    yield not (experts and c.get("tp", 1) > 1) or c.get("sequence_parallel")
    yield not (c.get("sequence_parallel") or c.get("tp_comm_overlap")) or c.get("tp", 1) > 1
    yield not c.get("tp_comm_overlap") or c.get("sequence_parallel")
    yield not c.get("cp_comm_type") or c.get("cp", 1) > 1
    yield not c.get("overlap_param_gather") or (c.get("overlap_grad_reduce") and (dist or c.get("megatron_fsdp")))
    yield not c.get("use_precision_aware_optimizer") or dist
    yield not c.get("exp_avg_dtype") or c.get("use_precision_aware_optimizer")
    yield not c.get("optimizer_cpu_offload") or (c.get("use_precision_aware_optimizer") and (not c.get("fp8_param_gather") or delayed) and not c.get("optimizer_cuda_graph"))
    yield not (c.get("fp8_recipe") or c.get("fp8_param_gather")) or narrow
    yield not (c.get("nccl_ub") and c.get("expandable_segments"))
    yield not c.get("nccl_ub") or dist or c.get("megatron_fsdp")
    yield queues != 1 or not c.get("megatron_fsdp")
    yield queues == 1 or c.get("tp", 1) * c.get("cp", 1) == 1 or overlap or c.get("megatron_fsdp")
    yield not c.get("manual_gc_interval") or c.get("manual_gc")
    yield not any(c.get(key) and release < since for key, since in RELEASES.items())
    yield graphs == "none" or release >= (18 if scopes or graphs == "full_iteration" else 15)


def drawn(draw, sizes):
    """A configuration for a recording of these sizes."""
    c = dict(sizes, framework=draw.choice(["megatron_lm", "megatron_bridge"]), seq_len=4096, bf16=True, num_layers=16)
    if sizes.get("ep", 1) > 1 or (not sizes and draw.random() < 0.4):
        c["num_experts"] = 64
    if c.get("tp", 1) * c.get("cp", 1) > 1:
        c["cuda_device_max_connections"] = 1
    if c.get("tp", 1) > 1 and c.get("num_experts"):
        c["sequence_parallel"] = True
    keys = sorted(VALUES)
    for _ in range(2):  # what needs another setting is tried again once that is there
        draw.shuffle(keys)
        for key in keys:
            value = draw.choice(VALUES[key])
            if key not in c and value is not None and all(startable(dict(c, **{key: value}))):
                c[key] = value
    if c.get("recompute_granularity") == "full":
        c.update(recompute_method="uniform", recompute_num_layers=1)
    return c


def stories(root, scratch):
    """(name, files) of the samples and of simulated runs."""
    samples = os.path.join(root, "samples", "kineto")
    for name in sorted(os.listdir(samples)):
        files = sorted(glob.glob(os.path.join(samples, name, "*.json.gz")))
        if files:
            yield name, files
    for name, words in sorted(SIMULATED.items()):
        yield name, kineto.write(training.simulate(training.Setup(**words)), scratch / name.replace(" ", "_"))
