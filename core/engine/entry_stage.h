// SPDX-License-Identifier: Apache-2.0
//
// Where a search enters its schedule. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_ENGINE_ENTRY_STAGE_H_
#define VOXLOC_CORE_ENGINE_ENTRY_STAGE_H_

#include <cstddef>
#include <optional>

#include "core/engine/profile.h"
#include "core/geometry/covariance.h"

namespace voxloc {

// How far a guess without a covariance is taken to move the points of a scan from their true
// places, root mean square, metres.
constexpr double kDefaultGuessDisplacementM = 2.0;

// Basin of convergence of a stage, as a ratio of its cell size. On the choosing list every search
// whose points were displaced by less converged.
constexpr double kReachPerCell = 0.625;

// The same for a guess with a covariance (about fixed map axes) and a scan whose points lie
// `scan_scale_m` from the base, root mean square: an upper bound, reached by points at right angles
// to the axis of rotation.
[[nodiscard]] double GuessDisplacement(const Matrix6& guess_covariance, double scan_scale_m);

// The stage of the profile that a search from such a guess begins with. A profile whose stages are
// not judged begins with the first. Otherwise: the last stage, up to the score stage, whose cells
// reach far enough for the displacement; without a covariance, the default above. Stages whose
// cells are larger than all that the scan sees are left out.
[[nodiscard]] size_t EntryStage(const Profile& profile,
                                const std::optional<Matrix6>& guess_covariance,
                                double scan_scale_m);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_ENTRY_STAGE_H_
