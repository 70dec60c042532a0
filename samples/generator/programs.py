"""The stories the samples tell: one training loop each, with one thing in its way.

A step is a small transformer (LAYERS layers) forward and backward plus an optimizer, on kernels that bear the
names PyTorch and Megatron-LM runs show on an H100. STORIES lists what is made.
"""
from simulate import AUTOGRAD, COMM, COMPUTE, COPY_IN, COPY_OUT, Job

US, MS, MIB = 1_000, 1_000_000, 1 << 20
LAYERS, STEPS = 2, 6

NORM = "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<Kernel_traits>(Params)"
NORM_BWD = "void transformer_engine::normalization::rmsnorm_bwd_tuned_kernel<Kernel_traits>(Params)"
QKV = "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NTN"
PROJ = "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT"
FC1 = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x128x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas"
FC2 = "nvjet_hsh_192x192_64x4_2x1_v_bz_coopB_TNN"
ROPE = "void fused_rope_forward_kernel<c10::BFloat16>(int, int, int, int)"
ATTENTION = "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0"
ATTENTION_BWD = "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_31_64x64x128_1x1x1_kernel0_0"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"
SWIGLU = "triton_poi_fused_mul_silu_0"
SWIGLU_BWD = "triton_poi_fused_mul_silu_silu_backward_1"
LOSS = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>(float*, float const*, int, int, int)"
ADAM = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*, double>(at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>)"
GRAD_NORM = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<float, (at::native::NormType)1, float, 1> >(at::native::(anonymous namespace)::TensorListMetadata<1>)"
PERMUTE = "void transformer_engine::moe_permute_kernel<__nv_bfloat16, float>(int const*, float const*)"
UNPERMUTE = "void transformer_engine::moe_unpermute_kernel<__nv_bfloat16, float>(int const*, float const*)"
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

ATTENTION_PART = [(NORM, 38, "aten::rms_norm"), (QKV, 330, "aten::mm"), (ROPE, 26, "FusedRoPEFunc"),
                  (ATTENTION, 290, "FusedAttnFunc"), (PROJ, 150, "aten::mm"), (ADD, 33, "aten::add")]
MLP_PART = [(NORM, 38, "aten::rms_norm"), (FC1, 540, "aten::mm"), (SWIGLU, 88, "swiglu"),
            (FC2, 500, "aten::mm"), (ADD, 33, "aten::add")]
BACKWARD = [(FC2, 490, "MmBackward0"), (FC2, 510, "MmBackward0"), (SWIGLU_BWD, 120, "SwiGLUFunctionBackward"),
            (FC1, 530, "MmBackward0"), (FC1, 560, "MmBackward0"), (NORM_BWD, 70, "RMSNormBackward"),
            (PROJ, 150, "MmBackward0"), (PROJ, 160, "MmBackward0"),
            (ATTENTION_BWD, 720, "FusedAttnFuncBackward"), (QKV, 320, "MmBackward0"),
            (QKV, 340, "MmBackward0"), (NORM_BWD, 70, "RMSNormBackward"), (ADD, 33, "AddBackward0")]


def group(name, description, world):
    return {"group": name, "description": description, "members": list(range(world))}


class Loop:
    """One training loop; stories override the hooks. speed: per mille of the usual kernel times."""
    world, steps, speed, marked = 1, STEPS, 1000, True

    def run(self):
        job = Job(self.world)
        for step in range(self.steps):
            if self.marked:
                with job.range(f"ProfilerStep#{step + 3}"):
                    self.step(job, step)
            else:
                self.step(job, step)
            job.all("host_work", 25 * US)
        job.all("block", "cudaDeviceSynchronize", [COMPUTE, COMM, COPY_IN, COPY_OUT])
        return job

    def kernels(self, job, rows):
        for name, us, op in rows:
            job.all("launch", name, us * self.speed, op=op)

    def step(self, job, step):
        self.load(job)
        if step == 0:  # the first step of a process loads code and fills the caches
            for _ in range(3):
                job.all("call", "cudaMalloc", 350 * US)
            job.all("host_work", 3 * MS)
        for layer in range(LAYERS):
            self.forward(job, layer)
        self.kernels(job, [(LOSS, 45, "aten::log_softmax")])
        with job.on_thread(AUTOGRAD):
            for layer in reversed(range(LAYERS)):
                self.backward(job, layer)
        self.after_backward(job)
        with job.range("Optimizer.step#Adam.step"):
            self.kernels(job, [(GRAD_NORM, 60, "aten::_foreach_norm"), (ADAM, 240, "aten::_fused_adam_"),
                               (ADAM, 230, "aten::_fused_adam_")])

    def load(self, job):
        with job.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
            job.all("host_work", 60 * US)
        job.all("copy", "h2d", 256 << 10, 12 * US, COPY_IN)
        job.all("wait_stream", COMPUTE, COPY_IN)

    def forward(self, job, layer):
        self.kernels(job, ATTENTION_PART)
        self.mlp(job, layer)

    def mlp(self, job, layer):
        self.kernels(job, MLP_PART)

    def backward(self, job, layer):
        with job.range("autograd::engine::evaluate_function: layer", "op"):
            self.kernels(job, BACKWARD)

    def after_backward(self, job):
        pass


class Healthy(Loop):
    """Compute bound: the host runs ahead, the device is busy."""


class LaunchBound(Loop):
    """Kernels are shorter than the host needs to launch them."""
    speed = 14


class ExposedAllToAll(Loop):
    """Experts over all ranks: tokens travel there and back before anything else can run."""
    world = 4

    def exchange(self, job):
        size = 48 * MIB
        info = dict(group("21", "EXPERT_MODEL_PARALLEL_GROUP", self.world), op="all_to_allv",
                    elements=size // 2, dtype="BFloat16", bytes=size)
        job.collective(SEND_RECV, 1_450 * US, info, "nccl:all_to_all")
        job.all("wait_stream", COMPUTE, COMM)

    def mlp(self, job, layer):
        self.kernels(job, [(NORM, 38, "aten::rms_norm"), (PERMUTE, 60, "moe_permute")])
        self.exchange(job)
        self.kernels(job, MLP_PART[1:4])
        self.exchange(job)
        self.kernels(job, [(UNPERMUTE, 55, "moe_unpermute"), (ADD, 33, "aten::add")])

    def backward(self, job, layer):
        with job.range("autograd::engine::evaluate_function: layer", "op"):
            self.exchange(job)
            self.kernels(job, BACKWARD[:5])
            self.exchange(job)
            self.kernels(job, BACKWARD[5:])


class Dataloader(Loop):
    """The next batch is not there when the step begins."""

    def load(self, job):
        job.all("block", "cudaStreamSynchronize", [COMPUTE])
        with job.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
            job.all("host_work", 9 * MS)
        job.all("copy", "h2d", 8 * MIB, 170 * US, COPY_IN)
        job.all("wait_stream", COMPUTE, COPY_IN)


class Recompute(Loop):
    """Full activation recompute: every layer's forward runs again in the backward pass."""

    def backward(self, job, layer):
        with job.range("autograd::engine::evaluate_function: CheckpointFunctionBackward", "op"):
            with job.range("CheckpointFunctionBackward", "op"):
                self.forward(job, layer)
        super().backward(job, layer)


class Allocator(Loop):
    """Memory is so tight that the caching allocator frees and allocates in every step."""

    def backward(self, job, layer):
        job.all("block", "cudaFree", [COMPUTE], 700 * US)
        job.all("call", "cudaFree", 420 * US)
        job.all("call", "cudaMalloc", 640 * US)
        super().backward(job, layer)


class HostSync(Loop):
    """A value is read back on the host several times per layer."""
    speed = 90

    def forward(self, job, layer):
        for part in (ATTENTION_PART, MLP_PART):
            self.kernels(job, part)
            with job.range("aten::item", "op"), job.range("aten::_local_scalar_dense", "op"):
                job.all("copy", "d2h", 4, 2 * US)
                job.all("block", "cudaStreamSynchronize", [COMPUTE])
            job.all("host_work", 45 * US)

    def after_backward(self, job):
        with job.range("aten::item", "op"):
            job.all("copy", "d2h", 4, 2 * US)
            job.all("block", "cudaStreamSynchronize", [COMPUTE])


class PageableCopies(Loop):
    """Batches come from pageable memory, in the way of the step."""

    def load(self, job):
        for _ in range(3):
            with job.range("aten::copy_", "op"):
                job.all("copy", "h2d", 12 * MIB, 2_100 * US, pageable=True)


class Offload(Loop):
    """Activations go to the host in forward and come back, late, in backward."""
    SIZE = 192 * MIB

    def forward(self, job, layer):
        super().forward(job, layer)
        with job.range("offload_activations"):
            job.all("wait_stream", COPY_OUT, COMPUTE)
            job.all("copy", "d2h", self.SIZE, 3_900 * US, COPY_OUT)

    def backward(self, job, layer):
        with job.range("reload_activations"):
            job.all("wait_stream", COPY_IN, COPY_OUT)
            job.all("copy", "h2d", self.SIZE, 3_900 * US, COPY_IN)
            job.all("wait_stream", COMPUTE, COPY_IN)
        super().backward(job, layer)


class DataParallelTail(Loop):
    """Gradients are reduced in one piece after the backward pass."""
    world = 2

    def after_backward(self, job):
        size = 380 * MIB
        info = dict(group("0", "DATA_PARALLEL_GROUP", self.world), op="allreduce", elements=size // 4,
                    dtype="Float", bytes=size)
        job.collective(ALL_REDUCE, 5_200 * US, info, "nccl:all_reduce")
        job.all("wait_stream", COMPUTE, COMM)


class NoSteps(Loop):
    """Nothing marks the steps: they must be found in the kernels."""
    marked = False

    def run(self):
        job = super().run()
        for rank in job.ranks:
            rank.ranges = [r for r in rank.ranges if r.kind == "op"]
        return job


STORIES = {
    "healthy": Healthy,
    "launch_bound": LaunchBound,
    "exposed_all_to_all": ExposedAllToAll,
    "dataloader": Dataloader,
    "recompute": Recompute,
    "allocator": Allocator,
    "host_sync": HostSync,
    "pageable_copies": PageableCopies,
    "offload": Offload,
    "data_parallel_tail": DataParallelTail,
    "no_steps": NoSteps,
}
