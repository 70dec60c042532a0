#pragma once
// The single changes behind WhatIf. Each edits a Scenario in place, so that changes compose; each
// returns false when nothing in the run can be changed by it.
#include <functional>
#include <optional>
#include <vector>

#include "analysis/peer_times.h"

namespace ws::change {

using KindSet = uint8_t;  // bit per CommKind
constexpr KindSet bit(CommKind k) { return static_cast<KindSet>(1u << static_cast<unsigned>(k)); }
inline constexpr KindSet kAllKinds = 0xff;

bool comm_zero(const ReplayGraph& g, KindSet kinds, bool keep,
               Scenario& s);  // transfer gone, rendezvous stays
bool comm_removed(const ReplayGraph& g, KindSet kinds, bool keep,
                  Scenario& s);  // neither transfer nor wait
bool network_faster(const ReplayGraph& g, int64_t factor, bool keep, Scenario& s);
bool launch_zero(const ReplayGraph& g, bool keep, Scenario& s);
// Where no queue showed the gap between its kernels: half more than is usual (D).
void longer_gaps(const ReplayGraph& g, Scenario& s);
bool sync_zero(const ReplayGraph& g, Scenario& s);
bool cover_zero(const ReplayGraph& g, CoverKind kind,
                Scenario& s);  // data loading, garbage collection
bool alloc_zero(const ReplayGraph& g, Scenario& s);
bool recompute_zero(const ReplayGraph& g, Scenario& s);
bool offload_zero(const ReplayGraph& g, Scenario& s);
bool copy_zero(const ReplayGraph& g, Scenario& s);
bool class_faster(const ReplayGraph& g, OpClass cls, int64_t factor, Scenario& s);
// Late ranks take what their peers take; keep: only where that is more than jitter.
bool straggler_fixed(const ReplayGraph& g, const std::vector<PeerTime>& peers, bool keep,
                     Scenario& s);
bool experts_balanced(const ReplayGraph& g, bool keep, Scenario& s);
// Gradients travel as soon as they exist, parameters until their layer needs them. To be applied
// after all other changes.
bool dp_overlapped(const ReplayGraph& g, bool keep, Scenario& s);

}  // namespace ws::change
