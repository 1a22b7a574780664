// SPDX-License-Identifier: Apache-2.0

#ifndef VOXLOC_DEVICE_ENGINE_H_
#define VOXLOC_DEVICE_ENGINE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/engine/engine.h"

namespace voxloc {

// The engine of LocalizerOptions::device. A GPU's has passed the self-test against the CPU's.
// InvalidArgument: not a device. FailedPrecondition: this build or machine has no such device.
// Internal: the GPU computes wrongly. Thread-safe: no shared state.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Engine>> MakeDeviceEngine(const std::string& device,
                                                                       size_t threads);

}  // namespace voxloc

#endif  // VOXLOC_DEVICE_ENGINE_H_
