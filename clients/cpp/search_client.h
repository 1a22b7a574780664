// SPDX-License-Identifier: Apache-2.0
//
// Finds a vehicle with a poor prior or none. Thread-safe; blocks until the result or the deadline.

#ifndef VOXLOC_CLIENTS_CPP_SEARCH_CLIENT_H_
#define VOXLOC_CLIENTS_CPP_SEARCH_CLIENT_H_

#include <functional>

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::client {

// Called for every progress message, on the calling thread. Return false to cancel the search.
using SearchObserver = std::function<bool(const v1::SearchProgress&)>;

// Errors are the server's, with its address and the call in the message; Cancelled if the observer
// (may be empty) returned false. `timeout_s`: deadline of the call, after which there is no result;
// 0: none. To get the best result after some time, set request.timeout_s and make `timeout_s` a few
// seconds longer.
[[nodiscard]] absl::StatusOr<v1::SearchResult> EstimateInitialPose(
    const Channel& channel, const v1::EstimateInitialPoseRequest& request,
    const SearchObserver& observer, double timeout_s);

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SEARCH_CLIENT_H_
