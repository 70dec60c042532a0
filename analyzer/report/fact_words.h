#pragma once
// The facts that a finding rests on, as a reader says them: "exposed EP communication 45.1 %".
#include <optional>
#include <string>
#include <string_view>

#include "advise/finding.h"

namespace ws {

// "": says nothing to a reader, or is not known.
std::string fact_words(const EvidenceValue& e, const Finding& f);

// Whether a column, or an expression of a rule, has words of its own.
bool has_words(std::string_view expression);

// A column without its table: "EP", "overlap grad reduce".
std::string column_words(std::string_view column);

// A row of the run configuration: "EP 8", "CUDA graphs no"; "" where it says nothing to a reader.
std::string config_words(const std::string& column, const std::string& value);

// Of the step, above what is printed as 0.0 %; nullopt: no share.
std::optional<bool> visible_share(const EvidenceValue& e);

}  // namespace ws
