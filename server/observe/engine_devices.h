// SPDX-License-Identifier: Apache-2.0
//
// The devices of an engine, each under the name that clients and metrics know it by. Thread-safe:
// no shared state.

#ifndef VOXLOC_SERVER_OBSERVE_ENGINE_DEVICES_H_
#define VOXLOC_SERVER_OBSERVE_ENGINE_DEVICES_H_

#include <cstdint>
#include <vector>

#include "core/engine/engine.h"

namespace voxloc::server {

// The engine, or what it spreads its work over. `ordinals` are those of its GPUs, in its order:
// they are named "cuda:0" and so on. Without one a device has its engine's name.
[[nodiscard]] std::vector<EngineInfo> DevicesOf(const Engine& engine,
                                                const std::vector<uint32_t>& ordinals);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_ENGINE_DEVICES_H_
