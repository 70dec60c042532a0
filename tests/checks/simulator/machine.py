"""A machine that runs training programs: a discrete-event simulation, written from what hardware does.

Every rank has one host (a coroutine that works, calls CUDA and sometimes waits) and one GPU with streams. A stream
takes its items in order: an op begins when the op before it has ended, its launch has arrived and every event the
stream waits for has happened. Communication kernels meet: the transfer begins when the last member has begun. Compute
slows down while communication runs beside it. Nothing here knows how wallsight re-simulates a recording.

A Machine is given `fixes`, ids of bottlenecks that are really absent: the truth of a what-if is a second run with
the same program, the same random draws and one fix more. All times are integer nanoseconds.
"""
import heapq
from collections import deque
from dataclasses import dataclass, field

CALL_NS, COPY_CALL_NS, RECORD_NS, WAIT_NS = 4_200, 5_200, 900, 700  # host time inside CUDA calls
ARRIVES_NS = 5_300         # from the start of a launch to its op on an idle stream
GAP_NS = 1_050             # between two ops of one stream
NODE_GAP_NS = 450          # between two kernels of a CUDA graph
EVENT_NS = 900             # from the end of an op to a stream that waits for it
WAKE_NS, SYNC_NS = 4_000, 2_500  # a blocked host comes back; the least a synchronisation costs
QUEUE_DEPTH = 1024         # launches a stream holds before the host has to wait
LATENCY_NS = {"allreduce": 16_000, "all_gather": 11_000, "reduce_scatter": 11_000, "all_to_allv": 13_000, "send": 9_000}
MASK = (1 << 32) - 1


class Happening:
    """Something that happens once: the end of an op, an event of a stream."""
    __slots__ = ("at", "waiters")

    def __init__(self):
        self.at, self.waiters = None, []

    def now(self, t):
        self.at = t
        waiters, self.waiters = self.waiters, []
        for resume in waiters:
            resume()


@dataclass
class Op:
    what: str  # compute, h2d, d2h, comm
    name: str
    work_ns: int
    stream: int
    step: int
    correlation: int
    kind: str = ""  # of communication: ep, tp, ...
    bytes: int = 0
    pageable: bool = False
    info: dict = field(default_factory=dict)
    meeting: object = None
    graph: int = 0
    node: int = 0
    arrives: int = 0
    begin: int = -1
    end: int = -1
    done: Happening = field(default_factory=Happening)
    left: float = 0
    since: int = 0
    version: int = 0


@dataclass
class Call:
    name: str
    begin: int
    end: int
    thread: int
    correlation: int
    sync: tuple = None  # what a cuda_sync row says: (kind, stream, recorded stream, correlation of the record)


@dataclass
class Range:
    name: str
    category: str
    begin: int
    end: int
    thread: int


class Meeting:
    """One collective, or one send with its receive."""

    def __init__(self, machine, members, kind, transfer_ns):
        self.machine, self.members, self.kind, self.transfer_ns = machine, members, kind, transfer_ns
        self.here = []

    def arrive(self, gpu, op):
        fixes = self.machine.fixes
        if self.kind + "_removed" in fixes:
            self.machine.at(self.machine.now, lambda: gpu.finish(op))
            return
        self.here.append((gpu, op))
        if len(self.here) < self.members:
            return
        for place, (gpu, op) in enumerate(self.here):
            spread = 0 if self.transfer_ns == 0 else place * 170 % 700
            self.machine.at(self.machine.now + self.transfer_ns + spread, lambda g=gpu, o=op: g.finish(o))


class Stream:
    def __init__(self, gpu, number):
        self.gpu, self.number, self.items = gpu, number, deque()
        self.running = self.last_end = self.tail = None
        self.waiting_launches, self.room = 0, None

    def push(self, item):
        self.items.append(item)
        if isinstance(item, Op):
            self.tail = item
            self.waiting_launches += 1
        self.advance()

    def advance(self):
        machine = self.gpu.machine
        while self.items and self.running is None:
            item = self.items[0]
            if isinstance(item, Op):
                start = item.arrives
                if self.last_end is not None:
                    start = max(start, self.last_end + self.gpu.gap(item))
                if start > machine.now:
                    machine.at(start, self.advance)
                    return
                self.items.popleft()
                self.running = item
                self.waiting_launches -= 1
                if self.room is not None and self.waiting_launches < QUEUE_DEPTH:
                    room, self.room = self.room, None
                    room.now(machine.now)
                self.gpu.begin(item)
                continue
            what, arrives, event = item
            if arrives > machine.now:
                machine.at(arrives, self.advance)
                return
            if what == "record":
                self.items.popleft()
                event.now(machine.now)
                continue
            if event.at is None:
                event.waiters.append(self.advance)
                return
            if event.at + EVENT_NS > machine.now and event.at > arrives:
                machine.at(event.at + EVENT_NS, self.advance)
                return
            self.items.popleft()


class Gpu:
    def __init__(self, machine, rank, slowdown):
        self.machine, self.rank, self.slowdown = machine, rank, slowdown
        self.streams, self.computing, self.communicating, self.ops = {}, [], 0, []

    def stream(self, number):
        if number not in self.streams:
            self.streams[number] = Stream(self, number)
        return self.streams[number]

    def gap(self, op):
        if op.node > 0:
            return NODE_GAP_NS + op.node * 37 % 100
        return GAP_NS + op.correlation * 37 % 200

    def rate(self):
        return 1 / (1 + self.slowdown) if self.communicating else 1.0

    def begin(self, op):
        now = self.machine.now
        op.begin = op.since = now
        self.ops.append(op)
        if op.what == "compute":
            op.left = float(op.work_ns)
            self.computing.append(op)
            self.promise(op)
        elif op.what == "comm":
            self.communicating += 1
            if self.communicating == 1:
                self.pace_changed(1.0)
            op.meeting.arrive(self, op)
        else:
            self.machine.at(now + op.work_ns, lambda: self.finish(op))

    def promise(self, op):
        version = op.version
        end = self.machine.now + int(op.left / self.rate() + 0.5)
        self.machine.at(end, lambda: self.finish(op) if op.version == version else None)

    def pace_changed(self, pace_before):
        if not self.slowdown:
            return
        for op in self.computing:
            op.left = max(0.0, op.left - (self.machine.now - op.since) * pace_before)
            op.since = self.machine.now
            op.version += 1
            self.promise(op)

    def finish(self, op):
        stream = self.stream(op.stream)
        op.end = stream.last_end = self.machine.now
        stream.running = None
        if op.what == "compute":
            self.computing.remove(op)
        elif op.what == "comm":
            pace = self.rate()
            self.communicating -= 1
            if self.communicating == 0:
                self.pace_changed(pace)
        op.done.now(self.machine.now)
        stream.advance()


class Machine:
    def __init__(self, world, seed, fixes=(), slowdown=0.0, bandwidth=None):
        self.world, self.seed, self.fixes = world, seed, frozenset(fixes)
        self.bandwidth = bandwidth or {}  # bytes per ns (GB/s) by kind of communication
        self.now, self.heap, self.serial = 0, [], 0
        self.gpus = [Gpu(self, r, slowdown) for r in range(world)]
        self.meetings = {}

    def at(self, t, what):
        self.serial += 1
        heapq.heappush(self.heap, (t, self.serial, what))

    def start(self, program, t):
        """Runs a coroutine: it yields times to pass and happenings to wait for."""
        def resume():
            for wanted in program:
                if isinstance(wanted, int):
                    self.at(self.now + wanted, resume)
                    return
                if wanted.at is None:
                    wanted.waiters.append(resume)
                    return
        self.at(t, resume)

    def run(self):
        while self.heap:
            self.now, _, what = heapq.heappop(self.heap)
            what()

    def transfer_ns(self, kind, op, size):
        if kind + "_zero" in self.fixes or kind + "_removed" in self.fixes:
            return 0
        speed = self.bandwidth.get(kind, 100.0) * (2 if "network_x2" in self.fixes else 1)
        return LATENCY_NS[op] + int(size / speed)

    def meeting(self, key, members, kind, transfer_ns):
        """The meeting of this name; the slowest member's data decide how long it takes."""
        if key not in self.meetings:
            self.meetings[key] = Meeting(self, members, kind, transfer_ns)
        m = self.meetings[key]
        m.transfer_ns = max(m.transfer_ns, transfer_ns)
        return m

    def noise(self, *key):
        """-1 to 1, the same for the same key whatever else happens."""
        x = self.seed * 0x9E3779B1 & MASK
        for k in key:
            x = (x ^ (k + 0x7F4A7C15)) * 0x85EBCA6B & MASK
            x ^= x >> 13
        x = x * 0xC2B2AE35 & MASK
        return ((x ^ x >> 16) & MASK) / (MASK / 2) - 1
