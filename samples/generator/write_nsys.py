"""Writes a Rank as `nsys export --type=sqlite --include-json=true` does: the tables wallsight reads, schema 3.20."""
import json
import os
import sqlite3

PID, CONTEXT, VM = 4100, 1, 1
TIDS = (4100, 4187)
GLOBAL_PID = VM << 48 | PID << 24
PUSH_POP, DOMAIN = 59, 75
NCCL_DOMAIN = 3

TABLES = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);
CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT);
CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT,
  totalMemory INTEGER, smCount INTEGER, uuid TEXT, cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,
  gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL,
  blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER,
  globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER,
  graphNodeId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
  text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, jsonTextId INTEGER,
  jsonText TEXT);
"""
PAGEABLE, PINNED, DEVICE = 0, 1, 2


class Strings:
    def __init__(self):
        self.ids = {}

    def __call__(self, text):
        return self.ids.setdefault(text, len(self.ids) + 1)


def global_tid(thread):
    return GLOBAL_PID | TIDS[thread]


def short_name(name):
    """What nsys shows: no arguments, templates, namespaces."""
    base = name.replace("(anonymous namespace)::", "").removeprefix("void ").split("(")[0].split("<")[0]
    return base.split("::")[-1]


def nsys_name(name):
    return name.replace("(anonymous namespace)::", "<unnamed>::").replace("4096ul", "(unsigned long)4096")


def write_meta(db, rank):
    db.executemany("INSERT INTO META_DATA_EXPORT VALUES (?,?)",
                   [("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"), ("EXPORT_PRODUCT_VERSION", "2025.3.1.0"),
                    ("EXPORT_SCHEMA_VERSION", "3.20.2"), ("EXPORT_SCHEMA_VERSION_MAJOR", "3"),
                    ("EXPORT_SCHEMA_VERSION_MINOR", "20"), ("EXPORT_SCHEMA_VERSION_MICRO", "2"),
                    ("EXPORT_PARAM_INCLUDE_JSON", "true")])
    environment = [("CUDA_GRAPH_TRACE_OPTIONS:MODE", "Node")]
    if rank.world > 1:
        environment += [("PROCESS_0:ENVIRONMENT_VARIABLE", f"RANK={rank.rank}"),
                        ("PROCESS_0:ENVIRONMENT_VARIABLE", f"WORLD_SIZE={rank.world}")]
    db.executemany("INSERT INTO META_DATA_CAPTURE VALUES (?,?)", environment)
    db.executemany("INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (?,?,?)",
                   [(34, "NvtxMark", "NVTX mark"), (PUSH_POP, "NvtxPushPopRange", "NVTX push/pop range"),
                    (60, "NvtxStartEndRange", "NVTX start/end range"), (DOMAIN, "NvtxDomainCreate", "NVTX domain create")])
    db.executemany("INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (?,?,?)",
                   [(1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"), (2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host")])
    db.executemany("INSERT INTO ENUM_CUDA_MEM_KIND VALUES (?,?,?)",
                   [(PAGEABLE, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"),
                    (PINNED, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"),
                    (DEVICE, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device")])
    db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1764000000000000000, '2025-11-24 16:00:00', NULL)")
    db.execute("INSERT INTO TARGET_INFO_GPU VALUES (?,?,?,?,?,?,?,?,?,?)",
               (VM, 0, "NVIDIA H100 80GB HBM3", f"0000:{27 + rank.rank:02x}:00.0", 85_029_158_912, 132,
                f"{rank.rank:08x}-0000-4000-8000-000000000000", rank.rank, 9, 0))
    db.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0,?,?)", (rank.rank, PID))
    db.execute("INSERT INTO PROCESSES VALUES (?,?,?)", (GLOBAL_PID, PID, "python3"))


def write_device(db, rank, string):
    device = rank.rank
    for op in sorted(rank.ops, key=lambda o: o.begin):
        where = (op.begin, op.end, device, CONTEXT, None, op.stream, op.correlation, GLOBAL_PID)
        if op.kind == "kernel":
            name = string(nsys_name(op.name))
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + ",".join("?" * 18) + ")",
                       where + (name, string(short_name(op.name)), None, 132, 1, 1, 384, 1, 1, None))
            continue
        host = PAGEABLE if op.pageable else PINNED
        kinds = (1, host, DEVICE) if op.kind == "h2d" else (2, DEVICE, host)
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" + ",".join("?" * 13) + ")",
                   where + (op.bytes,) + kinds + (None,))


def write_host(db, rank, string):
    for c in sorted(rank.calls, key=lambda c: c.begin):
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,?,0,NULL)",
                   (c.begin, c.end, global_tid(c.thread), c.correlation, string(c.name + "_v3020")))
    for thread, name in enumerate(("python3", "pt_autograd_0")):
        db.execute("INSERT INTO ThreadNames VALUES (?,0,?)", (string(name), global_tid(thread)))
    nvtx = "INSERT INTO NVTX_EVENTS VALUES (?,?,?,NULL,?,?,NULL,?,?,NULL,?)"
    db.execute(nvtx, (0, None, DOMAIN, "NCCL", global_tid(0), None, NCCL_DOMAIN, None))
    collectives = iter([o for o in rank.ops if o.collective])
    for r in sorted(rank.ranges, key=lambda r: (r.begin, -r.end)):
        if r.name.startswith("nccl:"):
            op = next(collectives)
            api = "ncclAllReduce" if "all_reduce" in r.name else "ncclAllToAll"
            payload = json.dumps({"NCCL communicator ID": 7_700_000_000_000_000_000 + int(op.collective["group"]),
                                  "Message size [bytes]": op.collective["bytes"]})
            db.execute(nvtx, (r.begin, r.end, PUSH_POP, None, global_tid(r.thread), string(api), NCCL_DOMAIN, payload))
        elif r.kind == "annotation" or "Checkpoint" in r.name:
            name = r.name.replace("ProfilerStep#", "iteration ")
            db.execute(nvtx, (r.begin, r.end, PUSH_POP, name, global_tid(r.thread), None, 0, None))


def write(rank, path):
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 1024")
    db.executescript(TABLES)
    string = Strings()
    write_meta(db, rank)
    write_device(db, rank, string)
    write_host(db, rank, string)
    db.executemany("INSERT INTO StringIds VALUES (?,?)", [(i, s) for s, i in string.ids.items()])
    db.commit()
    db.execute("VACUUM")
    db.close()
