"""A second, much simpler reader of both trace formats: device records only, written for checking.

read(path) returns {(process, device): [Op]}. It takes the shortest way (whole file in memory, json module), and
knows nothing of steps, threads or launches.
"""
import gzip
import json
import re
import sqlite3
from collections import defaultdict, namedtuple
from decimal import Decimal, InvalidOperation

Op = namedtuple("Op", "begin end kind name stream correlation")  # kind: kernel h2d d2h d2d p2p memset graph

COPY_KINDS = {1: "h2d", 2: "d2h", 8: "d2d", 10: "p2p", 11: "h2d", 12: "d2h", 13: "d2d"}
OTHER_COPIES = {3: "h2d", 4: "d2h", 5: "d2d", 6: "d2d", 7: "d2d"}  # arrays


def is_sqlite(path):
    with open(path, "rb") as f:
        return f.read(16) == b"SQLite format 3\0"


def columns(db, table):
    return {row[1].decode() for row in db.execute(f"PRAGMA table_info({table})")}


def read_nsys(path):
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    db.text_factory = bytes
    names = {}
    if columns(db, "StringIds"):
        names = {i: v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v)
                 for i, v in db.execute("SELECT id, value FROM StringIds")}
    out = defaultdict(list)
    for kind, table in (("kernel", "CUPTI_ACTIVITY_KIND_KERNEL"), ("copy", "CUPTI_ACTIVITY_KIND_MEMCPY"),
                        ("memset", "CUPTI_ACTIVITY_KIND_MEMSET"), ("graph", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE")):
        have = columns(db, table)
        if not have:
            continue
        pick = [c if c in have else "NULL" for c in
                ("start", "end", "deviceId", "globalPid", "streamId", "correlationId", "copyKind", "demangledName", "shortName")]
        for begin, end, device, pid, stream, corr, copy, name, short in db.execute(f"SELECT {', '.join(pick)} FROM {table}"):
            if begin is None or end is None:
                continue
            which = COPY_KINDS.get(copy, OTHER_COPIES.get(copy)) if kind == "copy" else kind
            if which is None:  # host to host
                continue
            text = names.get(name, names.get(short, "")) if kind == "kernel" else ""
            out[(pid, device)].append(Op(begin, end, which, text, stream, corr))
    return out


class Number(str):
    """The decimal text of a number that has a fraction."""


def nanoseconds(value):
    """Microseconds as text or integer, to integer ns; None when it is no number."""
    try:
        exact = Decimal(str(value)) * 1000
    except InvalidOperation:
        return None
    return int(exact) if exact.is_finite() else None


def load_json(path):
    raw = open(path, "rb").read()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    text = raw.decode("utf-8-sig", "replace")
    return json.loads(text, parse_float=Number, strict=False)


def copy_kind(name):
    found = re.search(r"(HtoD|DtoH|DtoD|PtoP|HtoH)", name)
    if found:
        return {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "PtoP": "p2p", "HtoH": None}[found.group(1)]
    return "d2d"


DEVICE_CATEGORIES = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "memset", "memcpy": "copy", "memset": "memset",
                     "concurrent_kernel": "kernel"}


def read_kineto(path):
    loaded = load_json(path)
    events = loaded if isinstance(loaded, list) else loaded.get("traceEvents", [])
    out = defaultdict(list)
    for e in events:
        if not isinstance(e, dict) or e.get("ph") != "X":
            continue
        kind = DEVICE_CATEGORIES.get(str(e.get("cat", "")).lower())
        if kind is None:
            continue
        args = e.get("args") or {}
        begin, length = nanoseconds(e.get("ts")), nanoseconds(e.get("dur"))
        if begin is None or length is None:
            continue
        name = str(e.get("name", ""))
        if kind == "copy":
            kind = copy_kind(name)
            if kind is None:
                continue
        device = args.get("device", e.get("pid"))
        out[(0, device)].append(Op(begin, begin + length, kind, name, args.get("stream", e.get("tid")),
                                   args.get("correlation")))
    return out


def read(path):
    return read_nsys(path) if is_sqlite(path) else read_kineto(path)
