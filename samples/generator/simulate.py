"""A tiny model of ranks that launch work on GPUs: the clockwork behind the samples.

A Rank has a host clock (`now`) and one clock per stream (`free`: when it runs dry). Launching moves the
host clock by the cost of the call and puts an op on the stream: it starts when the stream is free, its
dependencies are done and the launch has arrived. Nothing is random: small variations come from a
counter. A Job is several ranks that run one program in lock step; a collective starts on every member
when that member is ready and ends on all of them together.

All times are integer nanoseconds from the start of the recording.
"""
from contextlib import contextmanager
from dataclasses import dataclass, field

LAUNCH_CALL_NS = 4_200     # host time inside cudaLaunchKernel
LAUNCH_ARRIVES_NS = 5_300  # from the start of the call to the start of the kernel on an idle stream
STREAM_GAP_NS = 1_100      # between two kernels of one stream
MAIN, AUTOGRAD = 0, 1  # host threads
COMPUTE, COMM, COPY_OUT, COPY_IN = 7, 20, 24, 25  # stream numbers


@dataclass
class Op:
    kind: str  # kernel, h2d, d2h
    name: str
    begin: int
    end: int
    stream: int
    correlation: int
    bytes: int = 0
    pageable: bool = False
    collective: dict = field(default_factory=dict)


@dataclass
class Call:
    name: str
    begin: int
    end: int
    thread: int
    correlation: int


@dataclass
class Range:
    name: str
    kind: str  # annotation (the user's own), op (a framework operator)
    begin: int
    end: int
    thread: int


class Rank:
    def __init__(self, rank, world):
        self.rank, self.world = rank, world
        self.now, self.thread = 1_000_000 + 37_000 * rank, MAIN
        self.free = {}
        self.ops, self.calls, self.ranges = [], [], []
        self._correlation, self._wobble = 1000, 17 * (rank + 1)

    def vary(self, ns):
        """ns changed by up to 2 %, the same way in every run."""
        self._wobble = (self._wobble * 75 + 74) % 65_537
        return ns + ns * (self._wobble % 41 - 20) // 1000

    def host_work(self, ns):
        self.now += self.vary(ns)

    @contextmanager
    def range(self, name, kind="annotation"):
        begin = self.now
        yield
        self.ranges.append(Range(name, kind, begin, self.now, self.thread))
        self.now += 150

    def call(self, name, ns):
        """A CUDA call without device work; returns its correlation id."""
        self._correlation += 1
        self.calls.append(Call(name, self.now, self.now + ns, self.thread, self._correlation))
        self.now += ns
        return self._correlation

    def _start(self, stream, called_at):
        ready = self.free.get(stream, 0)
        return max(ready + STREAM_GAP_NS if ready else 0, called_at + self.vary(LAUNCH_ARRIVES_NS))

    def launch(self, name, ns, stream=COMPUTE, op="", host_ns=6_000):
        """One kernel; `op` is the framework operator around the launch, host_ns the time it takes."""
        begin = self.now
        self.host_work(host_ns)
        called_at = self.now
        correlation = self.call("cudaLaunchKernel", self.vary(LAUNCH_CALL_NS))
        start = self._start(stream, called_at)
        self.ops.append(Op("kernel", name, start, start + self.vary(ns), stream, correlation))
        self.free[stream] = self.ops[-1].end
        self.host_work(1_500)
        if op:
            self.ranges.append(Range(op, "op", begin, self.now, self.thread))

    def copy(self, kind, size, ns, stream=COMPUTE, pageable=False):
        """A copy; of pageable memory the call comes back only when the data has been moved."""
        called_at = self.now
        correlation = self.call("cudaMemcpyAsync", self.vary(LAUNCH_CALL_NS + 1_000))
        start = self._start(stream, called_at)
        self.ops.append(Op(kind, "", start, start + self.vary(ns), stream, correlation, size, pageable))
        self.free[stream] = self.ops[-1].end
        if pageable:
            self.now = self.calls[-1].end = self.ops[-1].end + 9_000
        return self.ops[-1].end

    def wait_stream(self, waiting, producer):
        """Work that comes on `waiting` starts after everything now on `producer`."""
        self.call("cudaEventRecord", 900)
        self.call("cudaStreamWaitEvent", 700)
        self.free[waiting] = max(self.free.get(waiting, 0), self.free.get(producer, 0))

    def block(self, name, streams, own_ns=0):
        """A call that returns own_ns after the streams have run dry."""
        begin = self.now
        done = max([begin + 2_500] + [self.free.get(s, 0) + 4_000 for s in streams])
        self.call(name, done - begin + own_ns)


class Job:
    def __init__(self, world=1):
        self.ranks = [Rank(r, world) for r in range(world)]
        self._sequence = 0

    def all(self, what, *args, **kwargs):
        for rank in self.ranks:
            getattr(rank, what)(*args, **kwargs)

    @contextmanager
    def range(self, name, kind="annotation"):
        managers = [rank.range(name, kind) for rank in self.ranks]
        for manager in managers:
            manager.__enter__()
        yield
        for manager in managers:
            manager.__exit__(None, None, None)

    @contextmanager
    def on_thread(self, thread):
        for rank in self.ranks:
            rank.thread = thread
        yield
        for rank in self.ranks:
            rank.thread = MAIN

    def collective(self, kernel, transfer_ns, info, annotation, stream=COMM):
        """One collective of all ranks that needs what is on the compute stream now."""
        self._sequence += 1
        mine = []
        for rank in self.ranks:
            with rank.range(annotation, "op"):
                rank.wait_stream(stream, COMPUTE)
                rank.launch(kernel, transfer_ns, stream)
            mine.append(rank.ops[-1])
        end = max(op.begin for op in mine) + transfer_ns
        for rank, op in zip(self.ranks, mine):
            op.end = rank.free[stream] = end
            op.collective = dict(info, sequence=self._sequence)
