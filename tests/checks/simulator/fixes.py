"""Which fixes a what-if stands for, and which setups they say something of."""

GROUPS = {"communication_zero": ("ep_zero", "tp_zero", "cp_zero", "pp_zero", "dp_zero"),
          "memory_zero": ("recompute_zero", "offload_zero", "alloc_zero"),
          "host_zero": ("launch_zero", "sync_zero", "dataload_zero", "gc_zero", "copy_zero"),
          "imbalance_fixed": ("straggler_fixed", "experts_balanced")}


def parts(what_if):
    return [x for part in what_if.split("+") for x in GROUPS.get(part, (part,))]


def defined(setup, what_if):
    """Whether the program can be had without the bottleneck. A hot expert is no slow rank that could be repaired, a slow
    GPU is no hot expert, and what overlaps already is not made to overlap better here."""
    absent = {"straggler_fixed": setup.experts, "experts_balanced": setup.slow_gpu and setup.ep > 1,
              "bubble_halved": setup.items or setup.alloc_ns,  # twice the micro-batches would read back and allocate twice
              "dp_overlapped": setup.dp_style in ("buckets", "sharded")}
    return not any(absent.get(part) for part in parts(what_if))


def concerns(setup, what_if):
    """Whether the bottleneck of a what-if is in the program at all."""
    sizes = {"tp": setup.tp, "cp": setup.cp, "ep": setup.ep, "pp": setup.pp, "dp": setup.dp * setup.ep}
    there = {"recompute_zero": setup.recompute, "offload_zero": setup.offload_mib, "gc_zero": setup.gc_ns, "alloc_zero": setup.alloc_ns,
             "experts_balanced": setup.experts, "straggler_fixed": setup.slow_gpu or setup.slow_host or setup.gc_ranks,
             "bubble_halved": setup.pp > 1, "dp_overlapped": sizes["dp"] > 1 and setup.dp_style in ("tail", "sharded_tail"),
             "sync_zero": setup.items or setup.data_sync or setup.pageable_mib, "network_x2": max(sizes.values()) > 1}
    there.update({f"{kind}_{how}": size > 1 for kind, size in sizes.items() for how in ("zero", "removed")})
    return any(there.get(part, True) for part in parts(what_if))
