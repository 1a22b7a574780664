// SPDX-License-Identifier: Apache-2.0
//
// Checks that the trace of an alignment is consistent, for any engine.

#ifndef VOXLOC_TESTS_SUPPORT_TRACE_CHECK_H_
#define VOXLOC_TESTS_SUPPORT_TRACE_CHECK_H_

#include "core/engine/align.h"

namespace voxloc {

void ExpectConsistentTrace(const AlignResult& result, const Profile& profile);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_TRACE_CHECK_H_
