// Any text as a rule: it is refused with reasons, or it is good and its clauses only read facts.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "advise/rule.h"
#include "advise/rule_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto checker = ws::RuleChecker::make();
  if (!checker) std::abort();
  ws::Rule rule;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const ws::Error& e : ws::read_rule(text, "fuzz.json", "memory/fuzz", *checker, rule)) {
    if (e.message.empty() || e.message.find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
