// SPDX-License-Identifier: Apache-2.0
//
// Results that would not fit into one message. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_MESSAGE_SIZE_H_
#define VOXLOC_SERVER_CONVERT_MESSAGE_SIZE_H_

#include <cstdint>

#include "voxloc/v1/alignment.pb.h"

namespace voxloc::server {

// Leaves out what was asked for in addition until a message with the result has at most so many
// bytes, the clouds first, and says so in `omitted`. What every result has always fits.
void FitIntoMessage(uint64_t max_bytes, v1::AlignmentResult& result);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_MESSAGE_SIZE_H_
