// A loop that looks to the GPU like the training of a small transformer: no mathematics, the right
// kernels in the right order. One thing can be put in its way, to see whether the report finds it.
//
//   train_cuda [HINDRANCE] [STEPS]     healthy (default) launch sync loader recompute offload graph; 20 steps
//
// A step is the NVTX range "iteration": wallsight record --step-range iteration -- ./train_cuda launch
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "train_cuda: %s: %s\n", what, cudaGetErrorString(e));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

// Named after what they stand for, so that a report classifies them as it would the real ones.
// Work is a number of turns per element.
__global__ void toy_gemm_kernel(float* out, const float* in, int n, int turns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = in[i];
  for (int k = 0; k < turns; ++k) sum = fmaf(sum, 1.0001f, in[(i + k) % n]);
  out[i] = sum;
}
__global__ void flash_fwd_kernel(float* out, const float* in, int n, int turns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < turns; ++k) sum += expf(-fabsf(in[(i + k) % n]));
  out[i] = sum;
}
__global__ void vectorized_elementwise_kernel(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 0.5f + out[i] * 0.5f;
}
__global__ void multi_tensor_apply_kernel(float* weights, const float* gradients, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) weights[i] -= 1e-4f * gradients[i];
}

enum class Hindrance { healthy, launch, sync, loader, recompute, offload, graph };

class Range {
 public:
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

class Training {
 public:
  explicit Training(Hindrance hindrance) : hindrance_(hindrance) {
    elements_ = hindrance == Hindrance::launch ? 1 << 12 : 1 << 22;
    turns_ = hindrance == Hindrance::launch ? 4 : 96;
    const size_t bytes = static_cast<size_t>(elements_) * sizeof(float);
    CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&batch_ready_, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&layer_done_, cudaEventDisableTiming));
    for (float** buffer : {&activations_, &gradients_, &weights_, &batch_}) {
      CHECK(cudaMalloc(buffer, bytes));
      CHECK(cudaMemset(*buffer, 0, bytes));
    }
    CHECK(cudaMallocHost(&host_batch_, bytes));
    CHECK(cudaMallocHost(&host_copy_, bytes));
    std::memset(host_batch_, 0, bytes);
    if (hindrance == Hindrance::graph) capture();
  }

  void step() {
    const Range range("iteration");
    load();
    if (hindrance_ == Hindrance::graph) {
      CHECK(cudaGraphLaunch(graph_, compute_));
    } else {
      layers();
    }
    CHECK(cudaStreamSynchronize(compute_));
  }

 private:
  static constexpr int kLayers = 12, kThreads = 256;
  int blocks() const { return (elements_ + kThreads - 1) / kThreads; }
  size_t bytes() const { return static_cast<size_t>(elements_) * sizeof(float); }

  void load() {
    const Range range("dataloader");
    if (hindrance_ == Hindrance::loader)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // reads and decodes
    CHECK(cudaMemcpyAsync(batch_, host_batch_, bytes(), cudaMemcpyHostToDevice, copies_));
    CHECK(cudaEventRecord(batch_ready_, copies_));
    CHECK(cudaStreamWaitEvent(compute_, batch_ready_, 0));
  }

  void layers() {
    {
      const Range range("forward");
      for (int l = 0; l < kLayers; ++l) forward_layer();
    }
    {
      const Range range("backward");
      for (int l = 0; l < kLayers; ++l) backward_layer();
    }
    const Range range("optimizer");
    multi_tensor_apply_kernel<<<blocks(), kThreads, 0, compute_>>>(weights_, gradients_, elements_);
    CHECK(cudaGetLastError());
  }

  void forward_layer() {
    toy_gemm_kernel<<<blocks(), kThreads, 0, compute_>>>(activations_, batch_, elements_, turns_);
    flash_fwd_kernel<<<blocks(), kThreads, 0, compute_>>>(gradients_, activations_, elements_, turns_ / 4);
    vectorized_elementwise_kernel<<<blocks(), kThreads, 0, compute_>>>(activations_, gradients_, elements_);
    CHECK(cudaGetLastError());
    if (hindrance_ == Hindrance::offload) move(cudaMemcpyDeviceToHost);
    if (hindrance_ == Hindrance::sync) read_a_value();
  }

  void backward_layer() {
    if (hindrance_ == Hindrance::recompute) {
      const Range range("CheckpointFunctionBackward");
      toy_gemm_kernel<<<blocks(), kThreads, 0, compute_>>>(activations_, batch_, elements_, turns_);
      flash_fwd_kernel<<<blocks(), kThreads, 0, compute_>>>(gradients_, activations_, elements_, turns_ / 4);
    }
    if (hindrance_ == Hindrance::offload) move(cudaMemcpyHostToDevice);
    toy_gemm_kernel<<<blocks(), kThreads, 0, compute_>>>(gradients_, activations_, elements_, turns_);
    toy_gemm_kernel<<<blocks(), kThreads, 0, compute_>>>(activations_, gradients_, elements_, turns_);
    vectorized_elementwise_kernel<<<blocks(), kThreads, 0, compute_>>>(gradients_, activations_, elements_);
    CHECK(cudaGetLastError());
    if (hindrance_ == Hindrance::sync) read_a_value();
  }

  // Activations go to the host, or come back, and the next layer waits for it.
  void move(cudaMemcpyKind kind) {
    CHECK(cudaEventRecord(layer_done_, compute_));
    CHECK(cudaStreamWaitEvent(copies_, layer_done_, 0));
    void* target = kind == cudaMemcpyDeviceToHost ? static_cast<void*>(host_copy_) : activations_;
    const void* source = kind == cudaMemcpyDeviceToHost ? static_cast<void*>(activations_) : host_copy_;
    CHECK(cudaMemcpyAsync(target, source, bytes(), kind, copies_));
    CHECK(cudaEventRecord(layer_done_, copies_));
    CHECK(cudaStreamWaitEvent(compute_, layer_done_, 0));
  }

  // What .item() does.
  void read_a_value() {
    float value = 0;
    CHECK(cudaMemcpyAsync(&value, activations_, sizeof value, cudaMemcpyDeviceToHost, compute_));
    CHECK(cudaStreamSynchronize(compute_));
  }

  void capture() {
    cudaGraph_t graph{};
    CHECK(cudaStreamBeginCapture(compute_, cudaStreamCaptureModeThreadLocal));
    layers();
    CHECK(cudaStreamEndCapture(compute_, &graph));
    CHECK(cudaGraphInstantiate(&graph_, graph, 0));
    CHECK(cudaGraphDestroy(graph));
  }

  Hindrance hindrance_;
  int elements_ = 0, turns_ = 0;
  cudaStream_t compute_{}, copies_{};
  cudaEvent_t batch_ready_{}, layer_done_{};
  cudaGraphExec_t graph_{};
  float *activations_ = nullptr, *gradients_ = nullptr, *weights_ = nullptr, *batch_ = nullptr;
  float *host_batch_ = nullptr, *host_copy_ = nullptr;
};

Hindrance hindrance_of(const std::string& name) {
  const std::vector<std::string> names = {"healthy", "launch", "sync", "loader", "recompute", "offload", "graph"};
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Hindrance>(i);
  }
  std::fprintf(stderr, "train_cuda: expected healthy, launch, sync, loader, recompute, offload or graph, found %s\n",
               name.c_str());
  std::exit(3);
}

}  // namespace

int main(int argc, char** argv) {
  const Hindrance hindrance = hindrance_of(argc > 1 ? argv[1] : "healthy");
  const int steps = argc > 2 ? std::atoi(argv[2]) : 20;
  Training training(hindrance);
  for (int i = 0; i < steps; ++i) training.step();
  CHECK(cudaDeviceSynchronize());
  std::printf("%d steps\n", steps);
  return 0;
}
