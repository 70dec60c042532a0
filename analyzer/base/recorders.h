#pragma once
// Which profiler advice names first. Who has a trace of PyTorch's profiler can record another like
// it; Nsight Systems does not know AMD's GPUs.
// Tested by: recorders_test.cpp
#include <string>
#include <string_view>

namespace ws {

struct Recorders {
  bool nsys = true;          // there is one for the GPU
  bool torch_first = false;  // the recording is one of torch.profiler

  // "A, or B" of the two, or the one that there is.
  std::string either(std::string_view torch, std::string_view nsys_way) const;
  // The same for advice that is written already, "nsys: A; torch.profiler: B" or "X, or nsys with
  // Y"; other text stays as it is, and what nsys alone can do is "" where there is none.
  std::string in_order(std::string_view advice) const;
};

// format, gpu: as the recordings say, "" where they differ or do not.
Recorders recorders_for(std::string_view format, std::string_view gpu);

}  // namespace ws
