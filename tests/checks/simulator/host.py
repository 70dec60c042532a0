"""The host of one rank: what a training process does between and inside its CUDA calls.

Every method is a coroutine of the Machine. A fix removes what the host does, never the order of the program: draws
are keyed by a count that goes on whether or not a call is made.
"""
from contextlib import contextmanager

from simulator.machine import (ARRIVES_NS, CALL_NS, COPY_CALL_NS, QUEUE_DEPTH, RECORD_NS, SYNC_NS, WAIT_NS, WAKE_NS,
                               Call, Happening, Op, Range)

COMPUTE, COMM, COPY_OUT, COPY_IN = 7, 20, 24, 25
MAIN, AUTOGRAD = 0, 1
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
COLLECTOR = "<built-in function collect>"


class Host:
    def __init__(self, machine, rank, slow_gpu=1.0, slow_host=1.0, vary=0.02):
        self.machine, self.rank, self.gpu = machine, rank, machine.gpus[rank]
        self.slow_gpu, self.slow_host, self.vary = slow_gpu, slow_host, vary
        self.thread, self.step = MAIN, -1
        self.calls, self.ranges, self.windows = [], [], []
        self.count, self.correlation = 0, 1000
        self.fixes = machine.fixes
        self.sequence = {}

    def drawn(self, ns, share=None):
        self.count += 1
        return max(0, int(ns * (1 + (share or self.vary) * self.machine.noise(self.rank, self.count))))

    @contextmanager
    def range(self, name, category="user_annotation"):
        begin = self.machine.now
        yield
        self.ranges.append(Range(name, category, begin, self.machine.now, self.thread))

    def host_time(self, ns):
        """Framework time: gone with the launches."""
        ns = int(self.drawn(ns, 0.1) * self.slow_host)
        if "launch_zero" not in self.fixes and ns > 0:
            yield ns

    def long_work(self, ns):
        """Host work that is no launch overhead: logging, data handling, pauses."""
        ns = self.drawn(ns, 0.05)
        if ns > 0:
            yield ns

    def call(self, name, ns, sync=None):
        self.correlation += 1
        if "launch_zero" in self.fixes:
            ns = 0
        begin, correlation = self.machine.now, self.correlation
        if ns > 0:
            yield int(ns * self.slow_host)
        self.calls.append(Call(name, begin, self.machine.now, self.thread, correlation, sync))

    def room_in(self, stream):
        while stream.waiting_launches >= QUEUE_DEPTH:
            stream.room = stream.room or Happening()
            yield stream.room

    def put(self, op, name, ns):
        """The call that puts op on its stream."""
        stream = self.gpu.stream(op.stream)
        arrives, ns = self.drawn(ARRIVES_NS, 0.1), self.drawn(ns, 0.1)
        begin = self.machine.now
        yield from self.room_in(stream)
        zero = "launch_zero" in self.fixes
        op.correlation = self.correlation + 1
        op.arrives = self.machine.now + (0 if zero else arrives)
        stream.push(op)
        self.correlation += 1
        correlation = self.correlation
        if not zero:
            yield int(ns * self.slow_host)
        self.calls.append(Call(name, begin, self.machine.now, self.thread, correlation))

    def kernel(self, name, ns, host_ns, stream=COMPUTE):
        yield from self.host_time(host_ns)
        work = int(self.drawn(ns) * self.slow_gpu)
        yield from self.put(Op("compute", name, work, stream, self.step, 0), "cudaLaunchKernel", CALL_NS)

    def graph(self, rows, host_ns, graph):
        """One launch of a CUDA graph: its kernels follow each other closely on the compute stream."""
        yield from self.host_time(host_ns)
        stream, zero = self.gpu.stream(COMPUTE), "launch_zero" in self.fixes
        arrives, ns = self.drawn(ARRIVES_NS + 3_000, 0.1), self.drawn(9_000, 0.1)
        begin = self.machine.now
        yield from self.room_in(stream)
        self.correlation += 1
        correlation = self.correlation
        for node, (name, kernel_ns) in enumerate(rows):
            op = Op("compute", name, int(self.drawn(kernel_ns) * self.slow_gpu), COMPUTE, self.step, correlation, node=node, graph=graph)
            op.arrives = self.machine.now + (0 if zero else arrives)
            stream.push(op)
        if not zero:
            yield int(ns * self.slow_host)
        self.calls.append(Call("cudaGraphLaunch", begin, self.machine.now, self.thread, correlation))

    def copy(self, what, size, ns, stream=COMPUTE, pageable=False, gone=False):
        ns = self.drawn(ns)
        op = Op(what, "", 0 if gone else ns, stream, self.step, 0, bytes=size, pageable=pageable)
        yield from self.put(op, "cudaMemcpyAsync", COPY_CALL_NS)
        if pageable and "sync_zero" not in self.fixes:
            yield op.done
            yield self.drawn(9_000)
            self.calls[-1].end = self.machine.now

    def record(self, producer):
        """Marks everything now on the stream; what to give to wait_for."""
        event = Happening()
        self.gpu.stream(producer).push(("record", self.machine.now, event))
        yield from self.call("cudaEventRecord", RECORD_NS)
        self.recorded = (event, producer, self.correlation)

    def wait_for(self, waiting, recorded):
        """Work that comes on `waiting` starts after what was recorded."""
        event, producer, correlation = recorded
        self.gpu.stream(waiting).push(("wait", self.machine.now, event))
        yield from self.call("cudaStreamWaitEvent", WAIT_NS, ("Stream Wait Event", waiting, producer, correlation))

    def wait_stream(self, waiting, producer):
        """Work that comes on `waiting` starts after everything now on `producer`."""
        yield from self.record(producer)
        yield from self.wait_for(waiting, self.recorded)

    def device_order(self, numbers):
        """What a synchronisation kept in order stays in order without it."""
        ends = [s.tail.done for n in numbers if (s := self.gpu.stream(n)).tail is not None]
        for n, stream in list(self.gpu.streams.items()):
            for end in ends:
                if end.at is None:
                    stream.push(("wait", self.machine.now, end))

    def block(self, name, numbers, sync=None):
        """The host waits until these streams have run dry."""
        wake = self.drawn(WAKE_NS)
        if "sync_zero" in self.fixes:
            self.device_order(numbers)
            return
        begin = self.machine.now
        self.correlation += 1
        correlation = self.correlation
        for n in numbers:
            tail = self.gpu.stream(n).tail
            if tail is not None and tail.done.at is None:
                yield tail.done
        dry = self.machine.now
        yield wake if dry > begin else SYNC_NS
        self.calls.append(Call(name, begin, self.machine.now, self.thread, correlation, sync))

    def synchronize(self, number=COMPUTE):
        yield from self.block("cudaStreamSynchronize", [number], ("Stream Sync", number, None, None))

    def everywhere(self):
        yield from self.block("cudaDeviceSynchronize", list(self.gpu.streams), ("Context Sync", -1, None, None))

    def allocate(self, ns):
        ns = self.drawn(ns, 0.1)
        if "alloc_zero" not in self.fixes:
            yield from self.plain_call("cudaMalloc", ns)

    def free(self, ns):
        """cudaFree waits for the whole device and then works."""
        ns = self.drawn(ns, 0.1)
        if "alloc_zero" in self.fixes:
            return
        begin = self.machine.now
        self.correlation += 1
        correlation = self.correlation
        for stream in list(self.gpu.streams.values()):
            if stream.tail is not None and stream.tail.done.at is None:
                yield stream.tail.done
        yield ns
        self.calls.append(Call("cudaFree", begin, self.machine.now, self.thread, correlation))

    def plain_call(self, name, ns):
        self.correlation += 1
        begin, correlation = self.machine.now, self.correlation
        yield ns
        self.calls.append(Call(name, begin, self.machine.now, self.thread, correlation))

    def load_data(self, ns):
        ns = self.drawn(ns, 0.05)
        if "dataload_zero" in self.fixes:
            ns = 0
        with self.range(LOADER):
            if ns > 0:
                yield ns

    def collect_garbage(self, ns):
        ns = self.drawn(ns, 0.05)
        if "gc_zero" in self.fixes:
            return
        with self.range(COLLECTOR, "python_function"):
            yield ns

    def communicate(self, kernel, name, group, size, kind, stream, host_ns, op=None, key=None, gone=False, annotation=None):
        """One communication kernel on its own stream; ordering with others is the caller's."""
        members, group_name, description = group
        self.sequence[(group_name, key)] = self.sequence.get((group_name, key), 0) + 1
        sequence = self.sequence[(group_name, key)]
        yield from self.host_time(host_ns)
        if gone:  # the draws of a launch go on
            self.count += 2
            return
        transfer = self.machine.transfer_ns(kind, "send" if name in ("send", "recv") else name, size)
        meeting = self.machine.meeting((group_name, key, sequence), len(members), kind, transfer)
        info = {"name": name, "members": members, "group": group_name, "description": description, "bytes": size,
                "sequence": sequence, **(op or {})}
        row = Op("comm", kernel, 0, stream, self.step, 0, kind=kind, bytes=size, info=info, meeting=meeting)
        with self.range(annotation or f"nccl:{name}", "cpu_op"):
            yield from self.put(row, "cudaLaunchKernelExC", CALL_NS)
