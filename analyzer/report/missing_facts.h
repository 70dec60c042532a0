#pragma once
// What the facts stand for that a rule would need, and what supplies them.
#include <string>
#include <vector>

namespace ws {

// "fact_memory.headroom_share": "memory events".
std::string missing_words(const std::string& fact);
// "torch.profiler with profile_memory=True, or nsys with --cuda-memory-usage=true"
std::string how_to_supply(const std::string& fact);
// Both of all of them, each way once: "EP, TP of the run configuration: --config FILE; ..."
std::string facts_words(const std::vector<std::string>& facts);

}  // namespace ws
