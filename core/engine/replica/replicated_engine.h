// SPDX-License-Identifier: Apache-2.0
//
// One engine made of several of the same kind, one a device. Every device keeps every tile and
// map; a batch is split over the devices by what each has to do already.
//
// The memory that tiles and maps take, and that there is, is that of one device: the largest part,
// and the least memory.
//
// A tile is built on one device and copied to the others; maps are composed on each. Tiles and maps
// are there on all devices or on none. A device that fails permanently takes no more
// work, and jobs that failed with it run again on another: the engine is healthy while one device
// is. What is built after a failure is built on the devices that are left.
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
