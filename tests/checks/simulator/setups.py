"""Random setups, each with one thing that a what-if is about and often a second one."""
import random
from dataclasses import replace

from simulator.training import MS, US, Setup


def parallel(r, kind):
    """A setup of 2 to 8 ranks whose communication of this kind matters."""
    size = r.choice((2, 4)) if kind != "cp" else 2
    base = dict(bandwidth={"tp": 250.0, "cp": 60.0, "ep": r.uniform(30, 60), "pp": 40.0, "dp": 100.0})
    base[kind] = size
    base["dp"] = base.get("dp", 1) if kind == "dp" else r.choice((1, 1, 2))
    if kind == "tp":
        base["mib"] = {"tp": r.choice((32, 64, 96))}
        base["bandwidth"]["tp"] = r.uniform(80, 250)
    elif kind == "cp":
        base["mib"] = {"cp": r.choice((24, 48))}
    elif kind == "ep":
        base["mib"] = {"ep": r.choice((24, 48, 64))}
    elif kind == "pp":
        base.update(pp=r.choice((2, 4)), micro_batches=r.choice((4, 6, 8)), layers=r.choice((1, 2)), mib={"pp": r.choice((32, 64, 128))})
    elif kind == "dp":
        base.update(dp=r.choice((2, 4, 8)), mib={"dp": r.choice((320, 512, 800))}, layers=r.choice((6, 8)),
                    dp_style=r.choice(("tail", "tail", "sharded_tail", "buckets", "sharded")))
    return base


def ep(r):
    return parallel(r, "ep")


def tp(r):
    return parallel(r, "tp")


def cp(r):
    return parallel(r, "cp")


def dp(r):
    return parallel(r, "dp")


def pp(r):
    return parallel(r, "pp")


def contention(r):
    kind = r.choice(("dp", "dp", "ep"))
    out = parallel(r, kind)
    out["slowdown"] = r.uniform(0.08, 0.25)
    if kind == "dp":
        out["dp_style"] = r.choice(("buckets", "sharded"))
    return out


def experts(r):
    out = parallel(r, "ep")
    out.update(experts=tuple(r.uniform(0.6, 1.0) for _ in range(out["ep"] - 1)) + (r.uniform(1.4, 2.2),),
               experts_rotate=r.random() < 0.6, tokens_travel=r.random() < 0.5, mib={"ep": 16})
    return out


def launches(r):
    return dict(speed=r.uniform(0.005, 0.04), host_ns=r.choice((4, 8, 14)) * US, layers=r.choice((3, 6)))


def syncs(r):
    return dict(speed=r.uniform(0.05, 0.3), items=r.choice((1, 2, 4)), layers=r.choice((3, 5)), data_sync=r.random() < 0.3)


def loader(r):
    return dict(data_ns=int(r.uniform(2, 12) * MS), data_sync=True, **(parallel(r, "dp") if r.random() < 0.3 else {}))


def garbage(r):
    return dict(gc_ns=int(r.uniform(8, 40) * MS), data_sync=True, gc_every=r.choice((1, 2)))


def allocator(r):
    return dict(alloc_ns=int(r.uniform(300, 900) * US), frees=r.random() < 0.7, layers=r.choice((3, 5)))


def recompute(r):
    out = dict(recompute=True)
    kind = r.choice(("", "", "tp", "ep"))
    return {**(parallel(r, kind) if kind else {}), **out}


def offload(r):
    return dict(offload_mib=r.choice((64, 96, 160)), layers=r.choice((3, 5)))


def copies(r):
    return dict(pageable_mib=r.choice((16, 32, 64)))


def slow_rank(r):
    kind = r.choice(("dp", "dp", "tp", "ep"))
    out = parallel(r, kind)
    world = Setup(**out).world
    guilty = r.randrange(world)
    how = r.choice(("gpu", "gpu", "host", "gc"))
    if how == "gpu":
        out["slow_gpu"] = (guilty, r.uniform(1.12, 1.5))
    elif how == "host":
        out.update(slow_host=(guilty, r.uniform(1.6, 2.5)), speed=0.06, mib={kind: 4})
    else:
        out.update(gc_ns=int(r.uniform(8, 30) * MS), gc_ranks=(guilty,), data_sync=True)
    return out


def graphs(r):
    return dict(speed=r.uniform(0.02, 0.3), graphs=True, layers=r.choice((3, 6)), items=r.choice((0, 1)))


FAMILIES = (ep, tp, dp, pp, cp, experts, slow_rank, launches, syncs, loader, garbage, allocator, recompute, offload, copies,
            contention, graphs)
SECOND = (loader, allocator, recompute, copies, syncs)


def draw(number, seed):
    """The number-th setup of a seed: (name, Setup)."""
    r = random.Random(f"{seed}/{number}")
    family = FAMILIES[number % len(FAMILIES)]
    chosen, name = family(r), family.__name__
    if number >= len(FAMILIES) and r.random() < 0.5:
        second = r.choice(SECOND)
        chosen, name = {**second(r), **chosen}, f"{name}+{second.__name__}"
    setup = Setup(seed=seed * 1000 + number, sync_rows=r.random() < 0.7, **chosen)
    if setup.world > 8:
        setup = replace(setup, dp=1)
    return name, setup
