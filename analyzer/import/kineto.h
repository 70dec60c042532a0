#pragma once
// Chrome JSON of the PyTorch profiler (Kineto), 2020 to 2026: object or array of events, plain or
// gzip, CUDA or ROCm.
#include "import/importer.h"
#include "import/source.h"

namespace ws {

extern const Importer kKinetoImporter;

// What the importer does, with blocks of a chosen size (tests make them tiny).
Result<Trace> read_kineto(const std::string& path, SourceOptions options);

}  // namespace ws
