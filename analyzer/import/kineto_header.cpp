// Tested by: kineto_test.cpp
#include "import/kineto_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "import/kineto_text.h"

namespace ws::kineto {
namespace {

constexpr std::array<std::string_view, 8> kWanted = {
    "schemaVersion", "deviceProperties",     "distributedInfo",     "baseTimeNanoseconds",
    "host_name",     "cuda_runtime_version", "hip_runtime_version", "cupti_version"};
constexpr std::array<std::string_view, 12> kOthers = {
    "displayTimeUnit", "traceName",         "traceEvents", "record_shapes",
    "with_stack",      "profile_memory",    "with_flops",  "with_modules",
    "trace_id",        "roctracer_version", "otherData",   "stackFrames"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view s) {
  return std::find(names.begin(), names.end(), s) != names.end();
}

// Members of the object in `value`; stops where it can not be read.
template <class OnMember>
void for_each_member(const Token& value, Repairs& repairs, OnMember on_member) {
  if (value.kind != Token::Kind::container || value.text()[0] != '{') return;
  Cursor c{value.data, value.data + value.size, {}};
  (void)walk_object(c, [&](std::string_view key, Cursor& at) {
    Token member;
    const Scan s = scan_value(at, member);
    if (s == Scan::ok) on_member(key, member);
    return s;
  });
  repairs.add(c.repairs);
}

template <class OnElement>
void for_each_element(const Token& value, Repairs& repairs, OnElement on_element) {
  if (value.kind != Token::Kind::container || value.text()[0] != '[') return;
  Cursor c{value.data, value.data + value.size, {}};
  (void)walk_array(c, [&](Cursor& at) {
    Token element;
    const Scan s = scan_value(at, element);
    if (s == Scan::ok) on_element(element);
    return s;
  });
  repairs.add(c.repairs);
}

template <class T>
T number_or(const Token& token, T fallback) {
  const auto n = whole_number(token);
  return n && *n >= 0 && *n <= std::numeric_limits<T>::max() ? static_cast<T>(*n) : fallback;
}

std::string text_of(const Token& token) {
  return token.kind == Token::Kind::container ? std::string() : unescaped(token);
}

void read_device(const Token& value, Header& header, Repairs& repairs) {
  Device d;
  d.ordinal = -1;
  for_each_member(value, repairs, [&](std::string_view key, const Token& v) {
    if (key == "id") d.ordinal = number_or<int32_t>(v, -1);
    if (key == "name") d.name = text_of(v);
    if (key == "totalGlobalMem") d.memory_bytes = number_or<int64_t>(v, 0);
    if (key == "numSms") d.sm_count = number_or<int32_t>(v, 0);
    if (key == "computeMajor") d.compute_major = number_or<int32_t>(v, 0);
    if (key == "computeMinor") d.compute_minor = number_or<int32_t>(v, 0);
  });
  if (d.ordinal >= 0) header.devices.push_back(std::move(d));
}

void read_group(const Token& value, Header& header, Repairs& repairs) {
  GroupConfig g;
  std::optional<int64_t> size;
  for_each_member(value, repairs, [&](std::string_view key, const Token& v) {
    if (key == "pg_name") g.name = text_of(v);
    if (key == "pg_desc") g.description = text_of(v);
    if (key == "pg_size" || key == "group_size") size = whole_number(v);
    if (key == "ranks") {
      if (auto ranks = number_list(v.text())) g.ranks = std::move(*ranks);
    }
  });
  // A shortened list is no list of members.
  if (size && *size != static_cast<int64_t>(g.ranks.size())) g.ranks.clear();
  if (!g.name.empty() || !g.description.empty()) header.groups.push_back(std::move(g));
}

void read_distributed(const Token& value, Header& header, Repairs& repairs) {
  for_each_member(value, repairs, [&](std::string_view key, const Token& v) {
    if (key == "rank") header.rank = whole_number(v);
    if (key == "world_size") header.world_size = whole_number(v);
    if (key == "pg_config") {
      header.groups.clear();
      for_each_element(v, repairs, [&](const Token& e) { read_group(e, header, repairs); });
    }
  });
}

void add_version(std::string_view name, const Token& value, Header& header) {
  const auto n = whole_number(value);
  if (!n) return;
  if (!header.versions.empty()) header.versions += ", ";
  header.versions += fmt::format("{} {}", name, *n);
}

}  // namespace

bool is_header_key(std::string_view key) { return is_one_of(kWanted, key); }
bool is_known_key(std::string_view key) { return is_header_key(key) || is_one_of(kOthers, key); }

void read_header_value(std::string_view key, const Token& value, Header& header, Repairs& repairs) {
  if (key == "schemaVersion") header.schema = whole_number(value);
  if (key == "baseTimeNanoseconds") header.base_ns = whole_number(value);
  if (key == "host_name") header.host_name = text_of(value);
  if (key == "cupti_version") add_version("CUPTI", value, header);
  if (key == "cuda_runtime_version") add_version("CUDA", value, header);
  if (key == "hip_runtime_version") add_version("HIP", value, header);
  if (key == "distributedInfo") read_distributed(value, header, repairs);
  if (key == "deviceProperties") {
    header.devices.clear();
    for_each_element(value, repairs, [&](const Token& e) { read_device(e, header, repairs); });
  }
}

}  // namespace ws::kineto
