#!/usr/bin/env python3
"""A small training loop with a bottleneck of your choice, to be recorded and analyzed.

    wallsight record -o run --steps 20:29 --python -- python train.py --bottleneck dataloader
    wallsight record -o run --steps 20:29 --nccl -- torchrun --nproc-per-node 2 train.py --parallel ddp --model moe
    wallsight analyze run

    python train.py --bottleneck dataloader --trace trace.json.gz
    wallsight analyze trace.json.gz

Every step is an NVTX range "iteration" with forward, backward and optimizer inside. Data are random numbers.
With --device cpu it runs where no GPU is, to be tried: there is nothing of a GPU to see in it.
"""
import argparse
import contextlib
import functools
import os
import sys
import time

BOTTLENECKS = {
    "healthy": "batches are ready, kernels are large, nothing waits",
    "launch": "many small kernels: a narrow model, and an optimizer that walks over its parameters one by one",
    "sync": "the host reads a number of the device after every part of the step",
    "dataloader": "batches are made by the training process itself, slowly",
    "recompute": "every block is computed again in the backward pass",
    "offload": "what the backward pass needs is kept in host memory",
}
# What to expect in the report, as fact_run.cause names it.
EXPECTED = {"healthy": "gemm_bound", "launch": "launch_bound", "sync": "host_sync", "dataloader": "input_pipeline",
            "recompute": "recompute", "offload": "offload"}


def parse(arguments=None):
    p = argparse.ArgumentParser(description="A small training loop with a bottleneck of your choice.")
    p.add_argument("--bottleneck", choices=BOTTLENECKS, default="healthy")
    p.add_argument("--model", choices=("gpt", "moe"), default="gpt")
    p.add_argument("--parallel", choices=("none", "ddp", "fsdp"), default="none", help="several ranks: start it with torchrun")
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--length", type=int, default=1024, help="tokens of a sequence")
    p.add_argument("--width", type=int, help="default 1024, 128 for launch")
    p.add_argument("--layers", type=int, help="default 12, 48 for launch")
    p.add_argument("--experts", type=int, default=8, help="of a layer, with --model moe")
    p.add_argument("--vocabulary", type=int, default=32768)
    p.add_argument("--load-ms", type=float, default=60, help="time that making one batch takes, with dataloader")
    p.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    p.add_argument("--trace", help="file for a trace of six steps by torch.profiler, .json or .json.gz")
    p.add_argument("--list", action="store_true", help="print the bottlenecks and what the report should say, and end")
    args = p.parse_args(arguments)
    small = args.bottleneck == "launch"
    args.width = args.width or (128 if small else 1024)
    args.layers = args.layers or (48 if small else 12)
    for name in ("steps", "batch", "length", "width", "layers", "experts", "vocabulary"):
        if getattr(args, name) < 1:
            p.error(f"--{name}: expected a positive number, found {getattr(args, name)}")
    if args.width % 64 != 0:
        p.error(f"--width: expected a multiple of 64, found {args.width}")
    if args.parallel != "none" and "RANK" not in os.environ and not args.list:
        p.error(f"--parallel {args.parallel}: expected to be started by torchrun, found no RANK")
    return args


@contextlib.contextmanager
def span(torch, args, name):
    nvtx = args.device == "cuda"  # other builds of PyTorch have none
    with torch.profiler.record_function(name) if args.trace else contextlib.nullcontext():
        if nvtx:
            torch.cuda.nvtx.range_push(name)
        try:
            yield
        finally:
            if nvtx:
                torch.cuda.nvtx.range_pop()


@contextlib.contextmanager
def profiler(torch, args):
    """What to call behind every step."""
    if not args.trace:
        yield lambda: None
        return
    activities = [torch.profiler.ProfilerActivity.CPU]
    if args.device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    rank = int(os.environ.get("RANK", "0"))
    name, dot, ending = args.trace.partition(".json")
    path = f"{name}.rank{rank}{dot}{ending}" if "RANK" in os.environ else args.trace
    schedule = torch.profiler.schedule(wait=3, warmup=2, active=6, repeat=1)
    with torch.profiler.profile(activities=activities, schedule=schedule,
                                on_trace_ready=lambda p: p.export_chrome_trace(path)) as p:
        yield p.step


def batches(torch, args, device):
    """Endless pairs of tokens and targets on the device."""
    if args.bottleneck != "dataloader":
        tokens = torch.randint(args.vocabulary, (args.batch, args.length + 1), device=device)
        while True:
            yield tokens[:, :-1], tokens[:, 1:]

    class Slow(torch.utils.data.IterableDataset):
        def __iter__(self):
            while True:
                end = time.monotonic() + args.load_ms / 1000 / args.batch
                while time.monotonic() < end:  # as decoding on the CPU does
                    pass
                yield torch.randint(args.vocabulary, (args.length + 1,))

    for tokens in torch.utils.data.DataLoader(Slow(), batch_size=args.batch, num_workers=0):
        tokens = tokens.to(device)
        yield tokens[:, :-1], tokens[:, 1:]


def make_model(torch, args, device, local_rank):
    from model import Gpt
    model = Gpt(args.vocabulary, args.width, max(1, args.width // 64), args.layers, args.length,
                args.experts if args.model == "moe" else 0, args.bottleneck == "recompute").to(device)
    if args.parallel == "ddp":
        # A rank may send no token to an expert.
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank] if args.device == "cuda" else None,
                                                         find_unused_parameters=args.model == "moe")
    if args.parallel == "fsdp":
        from model import Block
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
        by_block = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
        options = {"use_orig_params": True} if hasattr(torch, "compile") else {}  # since 2.0
        return FullyShardedDataParallel(model, device_id=local_rank if args.device == "cuda" else None,
                                        auto_wrap_policy=by_block, **options)
    return model


def step(torch, args, model, optimizer, tokens, targets):
    reads = args.bottleneck == "sync"
    keep = (torch.autograd.graph.save_on_cpu(pin_memory=args.device == "cuda") if args.bottleneck == "offload"
            else contextlib.nullcontext())
    with span(torch, args, "forward"), keep, torch.autocast(args.device, dtype=torch.bfloat16):
        loss = model(tokens, targets)
        if reads:
            loss.item()
    with span(torch, args, "backward"):
        loss.backward()
    with span(torch, args, "optimizer"):
        for parameter in model.parameters():
            if reads and parameter.grad is not None:
                parameter.grad.norm().item()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return loss


def train(args):
    try:
        import torch
    except ImportError:
        sys.exit("train.py: expected PyTorch, found none; install it as pytorch.org says for your GPU")
    cuda = args.device == "cuda"
    if cuda and not torch.cuda.is_available():
        sys.exit("train.py: expected a CUDA device, found none; --device cpu runs without")
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if args.parallel != "none":
        torch.distributed.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(0)
    model = make_model(torch, args, device, local_rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=args.bottleneck != "launch")
    source = batches(torch, args, device)
    begin = time.monotonic()
    with profiler(torch, args) as behind_step:
        for _ in range(args.steps):
            with span(torch, args, "iteration"):
                tokens, targets = next(source)
                loss = step(torch, args, model, optimizer, tokens, targets)
            behind_step()
    if cuda:
        torch.cuda.synchronize()
    if int(os.environ.get("RANK", "0")) == 0:
        print(f"{args.steps} steps of {(time.monotonic() - begin) * 1000 / args.steps:.1f} ms, loss {loss.item():.3f}")
    if args.parallel != "none":
        torch.distributed.destroy_process_group()


def main():
    args = parse()
    if not args.list:
        return train(args)
    for name, what in BOTTLENECKS.items():
        print(f"{name:11} {what}; the report should say {EXPECTED[name]}")


if __name__ == "__main__":
    main()
