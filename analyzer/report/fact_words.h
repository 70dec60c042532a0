#pragma once
// The facts that a finding rests on, as a reader says them: "exposed EP communication 45.1 %".
#include <optional>
#include <string>

#include "advise/finding.h"

namespace ws {

// "": says nothing to a reader, or is not known.
std::string fact_words(const EvidenceValue& e, const Finding& f);

// Of the step, above what is printed as 0.0 %; nullopt: no share.
std::optional<bool> visible_share(const EvidenceValue& e);

}  // namespace ws
