// SPDX-License-Identifier: Apache-2.0
//
// Aligns one scan without a session. Thread-safe; blocks until the answer or the deadline.

#ifndef VOXLOC_CLIENTS_CPP_ALIGN_H_
#define VOXLOC_CLIENTS_CPP_ALIGN_H_

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::client {

// Errors are the server's, with its name and the call in the message. `timeout_s` 0: no deadline.
[[nodiscard]] absl::StatusOr<v1::AlignmentResult> AlignScan(const Channel& channel,
                                                            const v1::AlignScanRequest& request,
                                                            double timeout_s);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_ALIGN_H_
