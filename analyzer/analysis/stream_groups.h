#pragma once
// Groups of ranks behind a stream number. Ranks of one group leave their collectives together,
// those of others at other times: pairs are lined up by presence, and those whose ends agree are
// joined.
#include <vector>

#include "analysis/collective_match.h"

namespace ws {

using MemberLists = std::vector<std::vector<Member>>;  // per rank row, in order of enqueue

// Rank rows of each group with two members or more, both in ascending order.
std::vector<std::vector<uint32_t>> groups_on_stream(const CommSet& set, const Offsets& offsets,
                                                    const MemberLists& lists);

}  // namespace ws
