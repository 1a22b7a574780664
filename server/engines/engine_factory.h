// SPDX-License-Identifier: Apache-2.0
//
// From `--engine` to an Engine. The only module of the server that names implementations.

#ifndef VOXLOC_SERVER_ENGINES_ENGINE_FACTORY_H_
#define VOXLOC_SERVER_ENGINES_ENGINE_FACTORY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/config/config.h"
#include "server/engines/engine_choice.h"

namespace voxloc::server {

// The errors of ChooseEngine.
// Whether this build and this machine have what `config` asks for. Starts no engine.
[[nodiscard]] absl::Status CheckEngine(const Config& config);

[[nodiscard]] absl::StatusOr<EngineChoice> MakeEngine(const Config& config);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_ENGINES_ENGINE_FACTORY_H_
