"""Training loops for the machine: a transformer step with the parallelism and the troubles a Setup asks for.

`simulate(setup, fixes)` runs it. The counterfactual of a fix is the same program, with the bottleneck really absent:
other people's ids (`ep_zero`, `straggler_fixed`, ...) are given a meaning here from what they promise the user.
"""
from dataclasses import dataclass, field

from simulator.host import AUTOGRAD, COMPUTE, COPY_IN, COPY_OUT, MAIN, Host
from simulator.machine import Machine

US, MS, MIB = 1_000, 1_000_000, 1 << 20
NORM = "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<Kernel_traits>(Params)"
NORM_BWD = "void transformer_engine::normalization::rmsnorm_bwd_tuned_kernel<Kernel_traits>(Params)"
QKV = "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NTN"
PROJ = "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT"
FC1 = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x128x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas"
FC2 = "nvjet_hsh_192x192_64x4_2x1_v_bz_coopB_TNN"
ROUTER = "nvjet_hsh_64x8_64x16_1x4_h_bz_TNT"
EXPERT = "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int> >, Mainloop, Epilogue, void, void> >(Params)"
ATTENTION = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0"
ATTENTION_BWD = "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_31_64x64x128_1x1x1_kernel0_0"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"
SWIGLU, SWIGLU_BWD = "triton_poi_fused_mul_silu_0", "triton_poi_fused_mul_silu_silu_backward_1"
PERMUTE = "void transformer_engine::moe_permute_kernel<__nv_bfloat16, float>(int const*, float const*)"
UNPERMUTE = "void transformer_engine::moe_unpermute_kernel<__nv_bfloat16, float>(int const*, float const*)"
ADAM = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*, double>(at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>)"
NCCL = {"allreduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "all_gather": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "reduce_scatter": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "p2p": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"}
ANNOTATION = {"allreduce": "nccl:all_reduce", "all_gather": "nccl:_all_gather_base", "send": "nccl:send", "recv": "nccl:recv",
              "reduce_scatter": "nccl:_reduce_scatter_base", "all_to_allv": "nccl:all_to_all"}
CLASS = {name: "gemm" for name in (QKV, PROJ, FC1, FC2, ROUTER, EXPERT)}
CLASS.update({ATTENTION: "attention", ATTENTION_BWD: "attention"})

ATTENTION_IN = [(NORM, 38), (QKV, 330)]
ATTENTION_OUT = [(ATTENTION, 290), (PROJ, 150)]
MLP = [(NORM, 38), (FC1, 540), (SWIGLU, 88), (FC2, 500)]
MLP_BWD = [(FC2, 490), (FC2, 510), (SWIGLU_BWD, 120), (FC1, 530), (FC1, 560), (NORM_BWD, 70)]
EXPERTS, EXPERTS_BWD = [(EXPERT, 520), (SWIGLU, 90), (EXPERT, 480)], [(EXPERT, 960), (SWIGLU_BWD, 120), (EXPERT, 1010)]
ATTENTION_BWD_PART = [(PROJ, 150), (PROJ, 160), (ATTENTION_BWD, 720), (QKV, 320), (QKV, 340), (NORM_BWD, 70)]

# Streams of the kinds; a pipeline stage has one per direction, so that sends never wait behind receives.
STREAM = {"tp": 28, "ep": 32, "cp": 36, "dp": 40}
SEND_FORWARD, RECV_FORWARD, SEND_BACKWARD, RECV_BACKWARD = 44, 48, 52, 56
DESCRIPTION = {"tp": "TENSOR_MODEL_PARALLEL_GROUP", "ep": "EXPERT_MODEL_PARALLEL_GROUP", "cp": "CONTEXT_PARALLEL_GROUP",
               "dp": "DATA_PARALLEL_GROUP", "pp": "PIPELINE_MODEL_PARALLEL_GROUP"}


@dataclass(frozen=True)
class Setup:
    seed: int = 1
    steps: int = 7
    layers: int = 3            # of a stage
    micro_batches: int = 1
    speed: float = 1.0         # kernel times over the usual
    host_ns: int = 7_000       # framework time per launch
    tp: int = 1
    cp: int = 1
    ep: int = 1
    pp: int = 1
    dp: int = 1                # replicas; with experts the ranks of ep are replicas already
    dp_style: str = "tail"     # tail, buckets, sharded
    mib: dict = field(default_factory=dict)  # of a message, by kind
    bandwidth: dict = field(default_factory=dict)
    slowdown: float = 0.0      # of compute beside communication
    experts: tuple = ()        # load per rank of a group over the mean; empty: even
    experts_rotate: bool = True
    tokens_travel: bool = False  # the exchange of a loaded rank is longer too
    items: int = 0             # values read back per layer
    data_ns: int = 0
    data_sync: bool = False    # the loader is asked when the device has finished
    gc_ns: int = 0
    gc_ranks: tuple = ()       # empty: all
    gc_every: int = 1
    alloc_ns: int = 0          # per layer
    frees: bool = False
    recompute: bool = False
    offload_mib: int = 0       # per layer
    pageable_mib: int = 0      # per step
    slow_gpu: tuple = ()       # rank, factor
    slow_host: tuple = ()
    graphs: bool = False       # the kernels between two exchanges are one CUDA graph
    logging_ns: int = 0        # per step, on the host
    sync_rows: bool = True     # the recording says what its events wait for

    @property
    def world(self):
        return self.tp * self.cp * self.ep * self.pp * self.dp


class Loop:
    """The program of one rank."""

    def __init__(self, setup, machine, rank):
        self.s, self.m, self.rank = setup, machine, rank
        self.fixes = machine.fixes
        fixed = "straggler_fixed" in self.fixes
        slow = lambda who: 1.0 if fixed or not who or who[0] != rank else who[1]
        self.host = Host(machine, rank, slow(setup.slow_gpu), slow(setup.slow_host))
        inner = {"tp": setup.tp, "cp": setup.cp, "ep": setup.ep, "pp": setup.pp, "dp": setup.dp}
        self.place, self.group, stride, left = {}, {}, 1, rank
        for kind, size in inner.items():
            self.place[kind] = left % size
            base = rank - self.place[kind] * stride
            members = [base + i * stride for i in range(size)]
            self.group[kind] = (members, f"{kind}{members[0]}", DESCRIPTION[kind])
            left //= size
            stride *= size
        if setup.ep > 1:  # gradients of what is not an expert are reduced over ep too
            stage = setup.tp * setup.cp
            members = [r for r in range(setup.world) if (r % stage) == rank % stage and
                       r // (stage * setup.ep) % setup.pp == self.place["pp"]]
            self.group["dp"] = (members, f"dp{members[0]}", DESCRIPTION["dp"])
        self.graphs = 0
        self.gathered = {}

    # The parts of a step.
    def kernels(self, rows, factor=1.0, gone=False, batch=1.0):
        h = self.host
        scaled = [(name, us * US * self.s.speed * factor * batch * (0.5 if CLASS.get(name, "membound") + "_x2" in self.fixes else 1.0))
                  for name, us in rows]
        if self.s.graphs and not gone and len(rows) > 1:
            self.graphs += 1
            yield from h.graph(scaled, self.s.host_ns, 1 + self.graphs % 50)
            return
        for name, ns in scaled:
            if gone:
                h.count += 4
                continue
            yield from h.kernel(name, ns, self.s.host_ns)

    def collective(self, kind, name, size, waits=True, gone=False, after=True, sizes=None):
        """after: needs what is on the compute stream; waits: the compute stream needs it."""
        if len(self.group[kind][0]) < 2:
            return
        h, stream = self.host, STREAM[kind]
        if not gone and after:
            yield from h.wait_stream(stream, COMPUTE)
        kernel = NCCL["p2p" if name == "all_to_allv" else name]
        yield from h.communicate(kernel, name, self.group[kind], int(size), kind, stream, self.s.host_ns, gone=gone,
                                 op=sizes and {"sizes": sizes}, annotation=ANNOTATION[name])
        if not gone and waits:
            yield from h.wait_stream(COMPUTE, stream)

    def mib(self, kind, usual):
        return self.s.mib.get(kind, usual) * MIB

    def load_of(self, step, layer):
        s = self.s
        if s.ep == 1 or not s.experts:
            return 1.0
        mean = sum(s.experts) / len(s.experts)
        if "experts_balanced" in self.fixes:
            return 1.0
        turn = (step * 5 + layer * 3) if s.experts_rotate else 0
        return s.experts[(self.place["ep"] + turn) % len(s.experts)] / mean

    def exchange(self, load, gone, batch, back):
        """Every rank has as many tokens; as many as its experts are asked for come, and go back."""
        sent = self.mib("ep", 48) * batch
        came = sent * (load if self.s.tokens_travel else 1)
        sizes = (came, sent) if back else (sent, came)
        yield from self.collective("ep", "all_to_allv", max(sizes), gone=gone, sizes=sizes)

    def forward(self, step, layer, batch, gone=False):
        s, h = self.s, self.host
        yield from self.kernels(ATTENTION_IN, gone=gone, batch=batch)
        yield from self.collective("cp", "all_gather", self.mib("cp", 32) * batch, gone=gone)
        yield from self.kernels(ATTENTION_OUT, gone=gone, batch=batch)
        yield from self.collective("tp", "allreduce", self.mib("tp", 32) * batch, gone=gone)
        yield from self.kernels([(ADD, 33)], gone=gone, batch=batch)
        if s.ep > 1:
            load = self.load_of(step, layer)
            yield from self.kernels([(NORM, 38), (ROUTER, 30), (PERMUTE, 60)], gone=gone, batch=batch)
            yield from self.exchange(load, gone, batch, False)
            yield from self.kernels(EXPERTS, load, gone, batch)
            yield from self.exchange(load, gone, batch, True)
            yield from self.kernels([(UNPERMUTE, 55)], gone=gone, batch=batch)
        else:
            yield from self.kernels(MLP, gone=gone, batch=batch)
        yield from self.collective("tp", "allreduce", self.mib("tp", 32) * batch, gone=gone)
        yield from self.kernels([(ADD, 33)], gone=gone, batch=batch)

    def read_back(self):
        with self.host.range("aten::item", "cpu_op"):
            yield from self.host.copy("d2h", 4, 2 * US, gone="copy_zero" in self.fixes)
            yield from self.host.synchronize(COMPUTE)
        yield from self.host.host_time(30 * US)

    def offload(self, back):
        s, h = self.s, self.host
        if not s.offload_mib:
            return
        gone = "offload_zero" in self.fixes
        ns = int(s.offload_mib * MIB / 25)
        with h.range("reload_activations" if back else "offload_activations"):
            yield from h.wait_stream(COPY_IN if back else COPY_OUT, COPY_OUT if back else COMPUTE)
            yield from h.copy("h2d" if back else "d2h", s.offload_mib * MIB, ns, COPY_IN if back else COPY_OUT, gone=gone)
            if back:
                yield from h.wait_stream(COMPUTE, COPY_IN)

    def backward(self, step, layer, batch, last):
        s, h = self.s, self.host
        yield from self.offload(True)
        if s.alloc_ns:
            if s.frees:
                yield from h.free(s.alloc_ns)
            yield from h.allocate(s.alloc_ns)
        if s.recompute:
            with h.range("autograd::engine::evaluate_function: CheckpointFunctionBackward", "cpu_op"):
                with h.range("CheckpointFunctionBackward", "cpu_op"):
                    yield from self.forward(step, layer, batch, gone="recompute_zero" in self.fixes)
        with h.range("autograd::engine::evaluate_function: LayerBackward", "cpu_op"):
            if s.ep > 1:
                load = self.load_of(step, layer)
                yield from self.exchange(load, False, batch, False)
                yield from self.kernels(EXPERTS_BWD, load, batch=batch)
                yield from self.exchange(load, False, batch, True)
                yield from self.kernels([(UNPERMUTE, 55), (NORM_BWD, 70)], batch=batch)
            else:
                yield from self.kernels(MLP_BWD, batch=batch)
            if last:
                yield from self.reduce_gradients(layer)
            yield from self.collective("tp", "allreduce", self.mib("tp", 32) * batch)
            yield from self.kernels(ATTENTION_BWD_PART[:3], batch=batch)
            yield from self.collective("cp", "reduce_scatter", self.mib("cp", 32) * batch)
            yield from self.kernels(ATTENTION_BWD_PART[3:], batch=batch)
            yield from self.collective("tp", "allreduce", self.mib("tp", 32) * batch)

    def layers(self, step, batch):
        for layer in range(self.s.layers):
            yield from self.need_parameters(layer)
            yield from self.forward(step, layer, batch)
            yield from self.offload(False)
            for _ in range(self.s.items):
                yield from self.read_back()

    def layers_back(self, step, batch, last):
        h = self.host
        h.thread = AUTOGRAD
        for layer in reversed(range(self.s.layers)):
            yield from self.backward(step, layer, batch, last)
            if last:
                yield from self.reduce_gradients(layer)
        h.thread = MAIN

    # Data parallelism.
    def style(self):
        return self.s.dp_style if "dp_overlapped" not in self.fixes else {"tail": "buckets", "sharded_tail": "sharded"}.get(
            self.s.dp_style, self.s.dp_style)

    def reduce_gradients(self, layer):
        style, size = self.style(), self.mib("dp", 320) / self.s.layers / 2  # two buckets per layer
        if style == "buckets":
            yield from self.collective("dp", "allreduce", size, waits=False)
        elif style == "sharded":
            yield from self.collective("dp", "reduce_scatter", size, waits=False)

    def need_parameters(self, layer):
        """A layer waits for its own parameters only."""
        if layer in self.gathered:
            yield from self.host.wait_for(COMPUTE, self.gathered.pop(layer))

    def finish_gradients(self):
        style, size = self.style(), self.mib("dp", 320)
        if style == "tail":
            yield from self.collective("dp", "allreduce", size)
        elif style == "sharded_tail":
            yield from self.collective("dp", "reduce_scatter", size)
        elif len(self.group["dp"][0]) > 1:
            yield from self.host.wait_stream(COMPUTE, STREAM["dp"])

    def finish_parameters(self):
        size = self.mib("dp", 320)
        if self.style() == "sharded_tail":
            yield from self.collective("dp", "all_gather", size)
        elif self.style() == "sharded" and len(self.group["dp"][0]) > 1:
            for layer in range(self.s.layers):  # they travel while the next step's first layers compute
                yield from self.collective("dp", "all_gather", size / self.s.layers, waits=False, after=layer == 0)
                yield from self.host.record(STREAM["dp"])
                self.gathered[layer] = self.host.recorded

    # Pipelines: one forward, one backward (1F1B).
    def peer(self, sends, forward, batch):
        s, h, stage = self.s, self.host, self.place["pp"]
        other = stage + (1 if forward == sends else -1)
        if not 0 <= other < s.pp:
            return
        members = self.group["pp"][0]
        first, second = sorted((members[stage], members[other]))
        stream = {(True, True): SEND_FORWARD, (False, True): RECV_FORWARD, (True, False): SEND_BACKWARD,
                  (False, False): RECV_BACKWARD}[(sends, forward)]
        if sends:
            yield from h.wait_stream(stream, COMPUTE)
        source, target = (members[stage], members[other]) if sends else (members[other], members[stage])
        name = "send" if sends else "recv"
        pair = ([first, second], f"pp{members[0]}", DESCRIPTION["pp"])
        yield from h.communicate(NCCL["p2p"], name, pair, int(self.mib("pp", 64) * batch), "pp", stream, s.host_ns,
                                 op={"source": source, "target": target, "all": members}, key=(source, target), annotation=ANNOTATION[name])
        if not sends:
            yield from h.wait_stream(COMPUTE, stream)

    def one_forward(self, step, batch):
        yield from self.peer(False, True, batch)
        yield from self.layers(step, batch)
        yield from self.peer(True, True, batch)

    def one_backward(self, step, batch, last):
        yield from self.peer(False, False, batch)
        yield from self.layers_back(step, batch, last)
        yield from self.peer(True, False, batch)

    def passes(self, step):
        m, batch = self.s.micro_batches, 1.0
        if "bubble_halved" in self.fixes and self.s.pp > 1:
            m, batch = 2 * m, 0.5
        ahead = min(self.s.pp - self.place["pp"] - 1, m)
        for _ in range(ahead):
            yield from self.one_forward(step, batch)
        for i in range(m - ahead):
            yield from self.one_forward(step, batch)
            yield from self.one_backward(step, batch, i == m - 1)
        for i in range(ahead):
            yield from self.one_backward(step, batch, m - ahead + i == m - 1)

    def load(self):
        s, h = self.s, self.host
        if s.data_sync:
            yield from h.synchronize(COMPUTE)
        yield from h.load_data(max(s.data_ns, 40 * US))
        gone = "copy_zero" in self.fixes
        if s.pageable_mib:
            yield from h.copy("h2d", s.pageable_mib * MIB, int(s.pageable_mib * MIB / 6), pageable=True, gone=gone)
        else:
            yield from h.copy("h2d", 256 << 10, 12 * US, COPY_IN, gone=gone)
            yield from h.wait_stream(COMPUTE, COPY_IN)

    def pauses(self, step):
        s = self.s
        if not s.gc_ns or step % s.gc_every:
            return
        if s.gc_ranks and (self.rank not in s.gc_ranks or "straggler_fixed" in self.fixes):
            return
        yield from self.host.collect_garbage(s.gc_ns)

    def one_step(self, step):
        h = self.host
        yield from self.load()
        yield from self.pauses(step)
        yield from self.passes(step)
        yield from self.finish_gradients()
        with h.range("Optimizer.step#Adam.step"):
            yield from self.kernels([(ADAM, 240), (ADAM, 230)])
        yield from self.finish_parameters()
        if self.s.logging_ns:
            yield from h.long_work(self.s.logging_ns)

    def run(self):
        h = self.host
        for step in range(self.s.steps):
            h.step = step
            with h.range(f"ProfilerStep#{step + 3}"):
                yield from self.one_step(step)
            yield from h.host_time(20 * US)
        h.step = -1
        begin = self.m.now
        for stream in list(h.gpu.streams.values()):
            if stream.tail.done.at is None:
                yield stream.tail.done
        yield 5_000
        yield from h.plain_call("cudaDeviceSynchronize", max(1, self.m.now - begin))


def simulate(setup, fixes=()):
    """The ranks' hosts after a run."""
    machine = Machine(setup.world, setup.seed, fixes, setup.slowdown, setup.bandwidth)
    loops = [Loop(setup, machine, r) for r in range(setup.world)]
    for loop in loops:
        machine.start(loop.run(), 1_000_000 + 37_000 * loop.rank)
    machine.run()
    return [loop.host for loop in loops]


def step_ns(hosts):
    """Mean time from one step's completion to the next, the first step led in."""
    steps = max(op.step for op in hosts[0].gpu.ops) + 1
    ends = [max(op.end for h in hosts for op in h.gpu.ops if op.step == s and op.what != "comm") for s in range(steps)]
    return (ends[-1] - ends[0]) / (steps - 1)
