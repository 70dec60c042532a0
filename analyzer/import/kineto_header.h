#pragma once
// What a trace says outside its events: devices, the distributed job, the clock, versions.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/kineto_scan.h"
#include "model/trace.h"

namespace ws::kineto {

struct Header {
  std::vector<Device> devices;
  std::vector<GroupConfig> groups;
  std::optional<int64_t> rank, world_size, base_ns, schema;
  std::string host_name, versions;  // "CUPTI 26, CUDA 12080"
  int known_keys = 0;               // top-level keys that only this format has
};

// True when the value of this top-level key is wanted whole; others may be passed over.
bool is_header_key(std::string_view key);
// True for keys of the format, wanted or not: they tell a trace, and where its events ended.
bool is_known_key(std::string_view key);
// Takes the value of one top-level key; what can not be read is left out. Repairs are added up.
void read_header_value(std::string_view key, const Token& value, Header& header, Repairs& repairs);

}  // namespace ws::kineto
