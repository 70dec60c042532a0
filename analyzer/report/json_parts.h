#pragma once
// What the files of the JSON report share.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "report/escape.h"
#include "report/report.h"

namespace ws {

using Json = nlohmann::ordered_json;
template <class T>
Json maybe(const std::optional<T>& v) {
  return v ? Json(*v) : Json(nullptr);
}
inline Json maybe_words(const std::optional<std::string>& v) {
  return v ? Json(escape_text(*v)) : Json(nullptr);
}

// What several ranks, changes and the critical path show: json_across.cpp.
Json across_json(const std::optional<ReportAcross>& across);
Json what_if_json(const Report& report);
Json replay_json(const Report& report);

}  // namespace ws
