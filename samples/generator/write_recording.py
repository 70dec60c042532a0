"""Writes a Rank as `wallsight record` does: schemas/recording_format.md and recording.proto, by hand and without compression."""
import struct

from write_nsys import CONTEXT, PID, TIDS

ROWS_OF_A_FRAME = 400
VARINT, BYTES = 0, 2
EPOCH_NS = 1_764_000_000_000_000_000
SIGNED, UNSIGNED = True, False
DEVICE_KIND = 3  # CUpti_ActivityMemoryKind: 1 pageable, 2 pinned, 3 device


def crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


CRC = crc_table()


def crc32c(data):
    c = 0xFFFFFFFF
    for byte in data:
        c = c >> 8 ^ CRC[(c ^ byte) & 255]
    return c ^ 0xFFFFFFFF


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def zigzag(n):
    return n << 1 ^ n >> 63


def number(tag, n):
    return varint(tag << 3 | VARINT) + varint(n)


def block(tag, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(tag << 3 | BYTES) + varint(len(data)) + data


def deltas(values, start):
    return [b - a for a, b in zip([start, *values], values)]


def table(tag, base, columns):
    """columns: (field, values, signed); the first is begins. Columns of zeros are left out."""
    out = b""
    for at, (field, values, signed) in enumerate(columns):
        values = deltas(values, base) if at == 0 else values
        if at == 0 or any(values):
            out += block(field, b"".join(varint(zigzag(v) if signed else v) for v in values))
    return block(tag, out) if columns[0][1] else b""


class Names:
    def __init__(self):
        self.ids, self.written = {}, 0

    def __call__(self, text):
        return self.ids.setdefault(text, len(self.ids) + 1) if text else 0

    def new(self):
        texts = list(self.ids)[self.written:]
        out = block(4, number(1, self.written + 1) + b"".join(block(2, t) for t in texts)) if texts else b""
        self.written = len(self.ids)
        return out


def process(rank):
    out = block(1, "0.1.0") + block(2, "node0") + number(3, PID + rank.rank) + number(4, EPOCH_NS)
    if rank.world > 1:
        out += number(5, rank.rank) + number(6, 1) + number(7, rank.world)
    return block(1, out + number(10, 130000))


def device(rank):
    return block(6, number(1, rank.rank) + block(2, "NVIDIA H100 80GB HBM3")
                 + block(3, f"{rank.rank:08x}-0000-4000-8000-000000000000") + number(4, 85_029_158_912) + number(5, 132)
                 + number(6, 9))


def chunk(rank, base, names, shapes, device_ops, calls, ranges):
    """One frame's body; `shapes` maps kernels to ids and grows."""
    new_shapes = b""
    kernels = [o for o in device_ops if o.kind == "kernel"]
    copies = [o for o in device_ops if o.kind != "kernel"]
    for o in kernels:
        if o.name not in shapes:
            shapes[o.name] = len(shapes) + 1
            new_shapes += block(5, number(1, shapes[o.name]) + number(2, names(o.name)) + block(3, bytes([1, 1, 1]))
                                + block(4, bytes([1, 1, 1])))

    def common(ops, fields):
        tags = iter(fields)
        return [(next(tags), [rank.rank] * len(ops), UNSIGNED), (next(tags), [CONTEXT] * len(ops), UNSIGNED),
                (next(tags), [o.stream for o in ops], UNSIGNED), (next(tags), deltas([o.correlation for o in ops], 0), SIGNED)]

    def times(rows):
        return [(1, [r.begin for r in rows], SIGNED), (2, [r.end - r.begin for r in rows], SIGNED)]

    host_kind = [1 if o.pageable else 2 for o in copies]
    to_device = [o.kind == "h2d" for o in copies]
    body = table(16, base, times(kernels) + [(3, [shapes[o.name] for o in kernels], UNSIGNED)] + common(kernels, (4, 5, 6, 7)))
    body += table(17, base, times(copies) + [
        (3, [o.bytes for o in copies], UNSIGNED), (4, [1 if h2d else 2 for h2d in to_device], UNSIGNED),
        (5, [h if h2d else DEVICE_KIND for h, h2d in zip(host_kind, to_device)], UNSIGNED),
        (6, [DEVICE_KIND if h2d else h for h, h2d in zip(host_kind, to_device)], UNSIGNED)] + common(copies, (7, 8, 9, 10)))
    body += table(20, base, times(calls) + [(3, [names(c.name + "_v3020") for c in calls], UNSIGNED),
                                            (4, [TIDS[c.thread] for c in calls], UNSIGNED),
                                            (5, deltas([c.correlation for c in calls], 0), SIGNED)])
    payloads = [r for r in ranges if r.payload]
    said = b"".join(block(8, number(1, r.payload[0]) + number(2, 1) + number(3, zigzag(r.payload[1]))
                          + b"".join(number(f, zigzag(-1)) for f in range(4, 9))) for r in payloads)
    rows = table(24, base, times(ranges) + [(3, [names(r.name) for r in ranges], UNSIGNED),
                                            (4, [names(r.domain) for r in ranges], UNSIGNED),
                                            (5, [TIDS[r.thread] for r in ranges], UNSIGNED),
                                            (7, [payloads.index(r) + 1 if r.payload else 0 for r in ranges], UNSIGNED)])
    if said:  # inside the table's message
        inner = rows[len(varint(24 << 3 | BYTES)):]
        while inner[0] & 128:
            inner = inner[1:]
        rows = block(24, inner[1:] + said)
    return number(3, zigzag(base)) + names.new() + new_shapes + body + rows


class Range:
    def __init__(self, name, domain, source, payload=None):
        self.name, self.domain, self.payload = name, domain, payload
        self.begin, self.end, self.thread = source.begin, source.end, source.thread


def nvtx_ranges(rank):
    """What NVTX shows of the program: the user's ranges and NCCL's own."""
    collectives = iter([o for o in rank.ops if o.collective])
    for r in sorted(rank.ranges, key=lambda r: (r.begin, -r.end)):
        if r.name.startswith("nccl:"):
            op = next(collectives)
            communicator = 7_700_000_000_000_000_000 + int(op.collective["group"])
            yield Range("ncclAllReduce" if "all_reduce" in r.name else "ncclAllToAll", "NCCL", r,
                        (communicator, op.collective["bytes"]))
        elif r.kind == "annotation" or "Checkpoint" in r.name:
            yield Range(r.name.replace("ProfilerStep#", "iteration "), "", r)


def write(rank, path):
    names, shapes = Names(), {}
    rows = sorted([*rank.ops, *rank.calls, *nvtx_ranges(rank)], key=lambda r: r.end)  # a range is written when it ends
    bodies = []
    for at in range(0, len(rows), ROWS_OF_A_FRAME):
        part = rows[at:at + ROWS_OF_A_FRAME]
        clock = part[-1].end
        head = process(rank) + device(rank) if at == 0 else b""
        head += block(2, number(1, clock) + number(2, EPOCH_NS + clock) + number(3, clock))
        bodies.append(head + chunk(rank, part[0].begin, names, shapes, [r for r in part if hasattr(r, "stream")],
                                   [r for r in part if hasattr(r, "correlation") and not hasattr(r, "stream")],
                                   [r for r in part if isinstance(r, Range)]))
    bodies.append(block(31, number(1, len(rows))))
    with open(path, "wb") as out:
        for sequence, body in enumerate(bodies):
            header = struct.pack("<4sBBHIIQI", b"WSF\xa7", 1, 0, 0, len(body), len(body), sequence, crc32c(body))
            out.write(header + struct.pack("<I", crc32c(header)) + body)
