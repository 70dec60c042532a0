#pragma once
// Which collective an op is, and between whom: its own record, else the innermost NCCL or
// record_param_comms range around its launch, else the kernel's name and stream.
#include "analysis/kernel_classes.h"
#include "analysis/labels.h"
#include "model/trace.h"

namespace ws {

// "ncclAllReduce", "_allgather_base", "nccl:all_to_all", "all_to_allv" ...; unknown: none of them.
CollectiveOp collective_op(std::string_view name);
// Bytes of one element of a torch or NCCL type name; 4 when it is not known.
int64_t bytes_of_dtype(std::string_view dtype);
// max(in, out) elements x type size, or the bytes the source says; -1: not known.
int64_t collective_bytes(const Trace& trace, const CollectiveInfo& info);

// Fills communicators, comm_ops, ops.coll and ops.communicator. by_name: class of each kernel's
// name, by StringId. Kinds are set only where a kernel's name tells them.
void find_communicators(const Trace& trace, const std::vector<NameClass>& classes,
                        const std::vector<uint32_t>& class_of_name, Labels& labels);

}  // namespace ws
