#include "base/recorders.h"

#include "support/catch.h"

using namespace ws;

TEST_CASE("the profiler of the recording comes first, and nsys never for AMD") {
  const Recorders nsys = recorders_for("nsys-sqlite", "NVIDIA H100 80GB HBM3");
  const Recorders torch = recorders_for("kineto-json", "NVIDIA H100 80GB HBM3");
  const Recorders amd = recorders_for("kineto-json", "AMD Instinct MI300X");
  CHECK(nsys.either("torch.profiler", "`nsys profile`") == "`nsys profile`, or torch.profiler");
  CHECK(torch.either("torch.profiler", "`nsys profile`") == "torch.profiler, or `nsys profile`");
  CHECK(amd.either("torch.profiler", "`nsys profile`") == "torch.profiler");
  CHECK(recorders_for("", "").either("T", "N") == "N, or T");
}

TEST_CASE("written advice is put in order, other text is left alone") {
  const Recorders nsys = recorders_for("nsys-sqlite", "");
  const Recorders torch = recorders_for("kineto-json", "");
  const Recorders amd = recorders_for("kineto-json", "AMD Radeon Graphics");
  struct Row {
    const char *advice, *torch, *amd;
  };
  for (const Row& row :
       {Row{"nsys: --trace=cuda; torch.profiler: activities",
            "torch.profiler: activities; nsys: --trace=cuda", "torch.profiler: activities"},
        Row{"torch.profiler: activities; nsys: --trace=cuda",
            "torch.profiler: activities; nsys: --trace=cuda", "torch.profiler: activities"},
        Row{"nsys with -t cuda, or torch.profiler with CUDA activities",
            "torch.profiler with CUDA activities, or nsys with -t cuda",
            "torch.profiler with CUDA activities"},
        Row{"torch 2.4 or later, or nsys with ranges of NCCL",
            "torch 2.4 or later, or nsys with ranges of NCCL", "torch 2.4 or later"},
        Row{"name the range; else, with torch.profiler: step(); nsys: a range",
            "name the range; else, with torch.profiler: step(); nsys: a range",
            "name the range; else, with torch.profiler: step()"},
        Row{"nsys profile --cuda-graph-trace=node", "nsys profile --cuda-graph-trace=node", ""},
        Row{"copy it again; or record anew, or both", "copy it again; or record anew, or both",
            "copy it again; or record anew, or both"},
        Row{"", "", ""}}) {
    INFO(row.advice);
    CHECK(nsys.in_order(row.advice) == row.advice);
    CHECK(torch.in_order(row.advice) == row.torch);
    CHECK(amd.in_order(row.advice) == row.amd);
  }
}
