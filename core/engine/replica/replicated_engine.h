// SPDX-License-Identifier: Apache-2.0
//
// One engine made of several of the same kind, one per device. Every device holds every tile and
// map. A batch is split over the devices by their outstanding work.
//
// The memory that tiles and maps take, and that there is, is that of one device: the largest part,
// and the least memory.
//
// A tile is built on one device and copied to the others; maps are composed on each. Tiles and maps
// exist on all devices in service or on none. A device that fails permanently gets no more work,
// and its failed jobs are retried on another one. The engine is healthy while one device is.
//
// Thread-safe. Results are those of one engine alone, in the order of the jobs.

#ifndef VOXLOC_CORE_ENGINE_REPLICA_REPLICATED_ENGINE_H_
#define VOXLOC_CORE_ENGINE_REPLICA_REPLICATED_ENGINE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "core/engine/engine.h"

namespace voxloc {

// One engine is returned as it is. InvalidArgument: none, a null one, or engines of different
// names.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Engine>> MakeReplicatedEngine(
    std::vector<std::unique_ptr<Engine>> engines);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_REPLICA_REPLICATED_ENGINE_H_
