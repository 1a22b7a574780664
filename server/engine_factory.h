// SPDX-License-Identifier: Apache-2.0
//
// From `--engine` to an Engine. The one file of the server that names implementations.

#ifndef VOXLOC_SERVER_ENGINE_FACTORY_H_
#define VOXLOC_SERVER_ENGINE_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/engine/engine.h"
#include "server/config.h"

namespace voxloc::server {

// FailedPrecondition: this build or machine has no such engine.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Engine>> MakeEngine(const Config& config);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_ENGINE_FACTORY_H_
