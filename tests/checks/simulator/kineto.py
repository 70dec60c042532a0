"""Writes what a simulated rank did as torch.profiler does: one Chrome JSON per rank with Kineto's fields."""
import gzip
import json

BASE_NS = 1_764_000_000_000_000_000
COPY_NAMES = {("h2d", False): "Memcpy HtoD (Pinned -> Device)", ("h2d", True): "Memcpy HtoD (Pageable -> Device)",
              ("d2h", False): "Memcpy DtoH (Device -> Pinned)", ("d2h", True): "Memcpy DtoH (Device -> Pageable)"}


def micro(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


def event(name, category, begin, end, pid, tid, args):
    return (f'{{"ph": "X", "cat": "{category}", "name": {json.dumps(name)}, "pid": {pid}, "tid": {tid}, '
            f'"ts": {micro(begin)}, "dur": {micro(end - begin)}, "args": {json.dumps(args)}}}')


def collective_args(op):
    c = op.info
    sent, came = (max(1, int(size) // 2) for size in c.get("sizes", (op.bytes, op.bytes)))
    args = {"Collective name": c["name"], "In msg nelems": sent, "Out msg nelems": came, "Group size": len(c["members"]),
            "dtype": "BFloat16", "Process Group Name": c["group"], "Process Group Description": c["description"],
            "Process Group Ranks": str(c["members"]), "In split size": "[]", "Out split size": "[]", "Seq": c["sequence"]}
    if "source" in c:
        args.update({"Group size": len(c["all"]), "Process Group Ranks": str(c["all"]), "Src Rank": c["all"].index(c["source"]), "Dst Rank": c["all"].index(c["target"])})
        del args["Seq"]
    return args


def device_event(op, device):
    args = {"External id": op.correlation + 50_000, "device": device, "context": 1, "stream": op.stream, "correlation": op.correlation}
    if op.what in ("compute", "comm"):
        args.update({"grid": [132, 1, 1], "block": [384, 1, 1], "queued": 0})
        if op.graph:
            args.update({"graph id": op.graph, "graph node id": op.graph * 1000 + op.node})
        if op.info:
            args.update(collective_args(op))
        return event(op.name, "kernel", op.begin, op.end, device, op.stream, args)
    args.update({"bytes": op.bytes, "memory bandwidth (GB/s)": round(op.bytes / max(1, op.end - op.begin), 3)})
    return event(COPY_NAMES[op.what, op.pageable], "gpu_memcpy", op.begin, op.end, device, op.stream, args)


def sync_event(call, device):
    kind, stream, producer, record = call.sync
    args = {"stream": stream, "correlation": call.correlation, "device": device, "context": 1, "cuda_sync_kind": kind}
    if record is not None:
        args.update({"wait_on_stream": producer, "wait_on_cuda_event_record_corr_id": record, "wait_on_cuda_event_id": record})
    return event(kind, "cuda_sync", call.begin, call.end, device, max(stream, 0), args)


def text_of(host, world, sync_rows=True, shift_ns=0):
    device, pid, rows = host.rank, 4100 + host.rank, []
    tids = (pid, pid + 1000)
    for r in host.ranges:
        rows.append((r.begin, event(r.name, r.category, r.begin, r.end, pid, tids[r.thread], {"External id": len(rows) + 1})))
    for c in host.calls:
        rows.append((c.begin, event(c.name, "cuda_runtime", c.begin, c.end, pid, tids[c.thread], {"cbid": 211, "correlation": c.correlation})))
        if c.sync and sync_rows:
            rows.append((c.begin, sync_event(c, device)))
    for op in host.gpu.ops:
        rows.append((op.begin, device_event(op, device)))
    head = {"schemaVersion": 1, "deviceProperties": [{"id": device, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_029_158_912,
                                                      "computeMajor": 9, "computeMinor": 0, "numSms": 132}],
            "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_NS + shift_ns}
    if world > 1:
        head["distributedInfo"] = {"backend": "nccl", "rank": host.rank, "world_size": world}
    fields = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in head.items())
    rows = ",\n  ".join(text for _, text in sorted(rows, key=lambda row: row[0]))
    return "{\n" + fields + ',\n  "traceEvents": [\n  ' + rows + "\n  ]\n}\n"


def write(hosts, folder, sync_rows=True, shift_ns=None):
    """One file per rank; shift_ns: how far each rank's clock is ahead."""
    folder.mkdir(parents=True, exist_ok=True)
    out = []
    for h in hosts:
        path = folder / f"rank{h.rank}.trace.json.gz"
        text = text_of(h, len(hosts), sync_rows, (shift_ns or {}).get(h.rank, 0))
        path.write_bytes(gzip.compress(text.encode(), 1, mtime=0))
        out.append(path)
    return out
