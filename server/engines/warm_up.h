// SPDX-License-Identifier: Apache-2.0
//
// The first alignment of an engine, which is slower than all others: memory is reserved, and the
// kernels are brought to the device. Thread-safe: no shared state but the log.

#ifndef VOXLOC_SERVER_ENGINES_WARM_UP_H_
#define VOXLOC_SERVER_ENGINES_WARM_UP_H_

#include "absl/status/status.h"
#include "core/engine/engine.h"

namespace voxloc::server {

// Aligns small made-up scans, one for each of the engine's devices, and logs how long it took. What
// is built is freed before it returns. An error: the engine cannot align; says why.
[[nodiscard]] absl::Status WarmUp(Engine& engine);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_ENGINES_WARM_UP_H_
