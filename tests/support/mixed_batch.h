// SPDX-License-Identifier: Apache-2.0
//
// Batches of different scans under profiles that leave the scale of rotations to the scan. For any
// engine.

#ifndef VOXLOC_TESTS_SUPPORT_MIXED_BATCH_H_
#define VOXLOC_TESTS_SUPPORT_MIXED_BATCH_H_

#include <memory>
#include <vector>

#include "core/engine/engine.h"

namespace voxloc {

// Scans of reaches from 5 m to 40 m at ScenePose(), each under both profiles as they are and along
// observed directions. `map` is the synthetic scene's, of any engine.
std::vector<AlignJob> JobsOfDifferentReach(const std::shared_ptr<const ResidentMap>& map);

// Every one of these jobs has the same bits alone and in batches of several orders, whichever job
// comes first.
void ExpectScansToKeepTheirScale(Engine& engine, const std::shared_ptr<const ResidentMap>& map);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_MIXED_BATCH_H_
