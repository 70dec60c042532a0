"""Writes a Rank as torch.profiler does: Chrome JSON with Kineto's categories and fields, gzip."""
import gzip
import json

PID, BASE_NS = 4100, 1_764_000_000_000_000_000
TIDS = (4100, 4187)
COPY_NAMES = {("h2d", False): "Memcpy HtoD (Pinned -> Device)", ("h2d", True): "Memcpy HtoD (Pageable -> Device)",
              ("d2h", False): "Memcpy DtoH (Device -> Pinned)", ("d2h", True): "Memcpy DtoH (Device -> Pageable)"}


def micro(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


def event(name, category, begin, end, pid, tid, args):
    """One complete event, as text: times keep their three decimals."""
    return (f'{{"ph": "X", "cat": {json.dumps(category)}, "name": {json.dumps(name)}, "pid": {pid}, "tid": {tid}, '
            f'"ts": {micro(begin)}, "dur": {micro(end - begin)}, "args": {json.dumps(args)}}}')


def collective_args(op):
    c = op.collective
    return {"Collective name": c["op"], "In msg nelems": c["elements"], "Out msg nelems": c["elements"],
            "Group size": len(c["members"]), "dtype": c["dtype"], "Process Group Name": c["group"],
            "Process Group Description": c["description"], "Process Group Ranks": str(c["members"]),
            "In split size": "[]", "Out split size": "[]"}


def device_event(op, device):
    args = {"External id": op.correlation + 50_000, "device": device, "context": 1, "stream": op.stream,
            "correlation": op.correlation}
    if op.kind == "kernel":
        args.update({"grid": [132, 1, 1], "block": [384, 1, 1], "registers per thread": 168, "shared memory": 0,
                     "queued": 0})
        if op.collective:
            args.update(collective_args(op))
        return event(op.name, "kernel", op.begin, op.end, device, op.stream, args)
    args["bytes"] = op.bytes
    args["memory bandwidth (GB/s)"] = round(op.bytes / (op.end - op.begin), 3)
    return event(COPY_NAMES[op.kind, op.pageable], "gpu_memcpy", op.begin, op.end, device, op.stream, args)


def flow(op, launched, device):
    common = f'"id": {op.correlation}, "cat": "ac2g", "name": "ac2g"'
    return [f'{{"ph": "s", {common}, "pid": {PID}, "tid": {TIDS[launched.thread]}, "ts": {micro(launched.begin)}}}',
            f'{{"ph": "f", "bp": "e", {common}, "pid": {device}, "tid": {op.stream}, "ts": {micro(op.begin)}}}']


def head(rank, groups):
    out = {"schemaVersion": 1,
           "deviceProperties": [{"id": i, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_029_158_912,
                                 "computeMajor": 9, "computeMinor": 0, "maxThreadsPerBlock": 1024, "numSms": 132}
                                for i in range(rank.world)],
           "cupti_version": 24, "cuda_runtime_version": 12060, "cuda_driver_version": 12080,
           "with_flops": 0, "record_shapes": 0, "with_stack": 0, "profile_memory": 0,
           "trace_id": f"{rank.rank:032X}", "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_NS}
    if rank.world > 1:
        config = [{"pg_name": name, "pg_desc": text, "backend_config": "cuda:nccl", "pg_size": len(members),
                   "ranks": members} for name, text, members in groups]
        out["distributedInfo"] = {"backend": "nccl", "rank": rank.rank, "world_size": rank.world,
                                  "pg_count": len(config), "pg_config": config, "nccl_version": "2.25.1"}
    return out


def groups_of(rank):
    seen = {(o.collective["group"], o.collective["description"], tuple(o.collective["members"]))
            for o in rank.ops if o.collective}
    return [(name, text, list(members)) for name, text, members in sorted(seen)]


def text_of(rank):
    device, rows = rank.rank, []
    calls = {c.correlation: c for c in rank.calls}
    for r in rank.ranges:
        kind = "user_annotation" if r.kind == "annotation" else "cpu_op"
        rows.append((r.begin, event(r.name, kind, r.begin, r.end, PID, TIDS[r.thread], {"External id": len(rows) + 1})))
    for c in rank.calls:
        rows.append((c.begin, event(c.name, "cuda_runtime", c.begin, c.end, PID, TIDS[c.thread],
                                    {"cbid": 211, "correlation": c.correlation})))
    for op in rank.ops:
        rows.append((op.begin, device_event(op, device)))
        start, finish = flow(op, calls[op.correlation], device)
        rows += [(calls[op.correlation].begin, start), (op.begin, finish)]
    names = [f'{{"name": "process_name", "ph": "M", "ts": 0.000, "pid": {PID}, "tid": 0, "args": {{"name": "python3"}}}}',
             f'{{"name": "process_labels", "ph": "M", "ts": 0.000, "pid": {device}, "tid": 0, "args": {{"labels": "GPU {device}"}}}}']
    rows = names + [text for _, text in sorted(rows, key=lambda row: row[0])]
    fields = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in head(rank, groups_of(rank)).items()]
    fields.append('  "traceName": "trace.json"')
    return "{\n" + ",\n".join(fields) + ',\n  "traceEvents": [\n  ' + ",\n  ".join(rows) + "\n  ]\n}\n"


def write(rank, path):
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as out:
        out.write(text_of(rank).encode())
