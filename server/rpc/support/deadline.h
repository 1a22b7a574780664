// SPDX-License-Identifier: Apache-2.0
//
// When an RPC has to be done, in abseil's time.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_DEADLINE_H_
#define VOXLOC_SERVER_RPC_SUPPORT_DEADLINE_H_

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "absl/time/time.h"

namespace voxloc::server {

// The infinite future for a caller without a deadline.
[[nodiscard]] inline absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  const std::chrono::system_clock::time_point deadline = context.deadline();
  return deadline == std::chrono::system_clock::time_point::max() ? absl::InfiniteFuture()
                                                                  : absl::FromChrono(deadline);
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_DEADLINE_H_
