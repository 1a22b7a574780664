// SPDX-License-Identifier: Apache-2.0
//
// What a session has been answered, as ListSessions tells it.

#ifndef VOXLOC_SERVER_SESSION_SESSION_ANSWERS_H_
#define VOXLOC_SERVER_SESSION_SESSION_ANSWERS_H_

#include <cstdint>

#include "voxloc/v1/admin_service.pb.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::server {

// Adds an answer to the session's counts and means, as its last one. `unanswered` stays as it is.
void RecordAnswer(const v1::AlignmentResult& result, int64_t now_ns, v1::SessionInfo& info);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SESSION_SESSION_ANSWERS_H_
