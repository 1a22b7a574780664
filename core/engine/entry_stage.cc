// SPDX-License-Identifier: Apache-2.0

#include "core/engine/entry_stage.h"

#include <algorithm>
#include <cmath>

namespace voxloc {
namespace {

// Cells of this many times the displacement are large enough: a Gaussian displacement in the plane
// is within 2.5 times its root mean square with a probability of 0.998.
constexpr double kCellsPerDisplacement = 2.5 / kReachPerCell;
// What a scan sees is about this many times its root mean square range across.
constexpr double kExtentPerScale = 2.0;

}  // namespace

double GuessDisplacement(const Matrix6& guess_covariance, double scan_scale_m) {
  const double squared =
      guess_covariance.topLeftCorner<3, 3>().trace() +
      scan_scale_m * scan_scale_m * guess_covariance.bottomRightCorner<3, 3>().trace();
  return std::sqrt(std::max(0.0, squared));
}

size_t EntryStage(const Profile& profile, const std::optional<Matrix6>& guess_covariance,
                  double scan_scale_m) {
  if (!profile.judged) return 0;
  const double displacement_m = guess_covariance.has_value()
                                    ? GuessDisplacement(*guess_covariance, scan_scale_m)
                                    : kDefaultGuessDisplacementM;
  size_t entry = profile.score_stage;
  while (entry > 0) {
    if (profile.stages[entry].cells.cell_size_m >= kCellsPerDisplacement * displacement_m) break;
    if (profile.stages[entry - 1].cells.cell_size_m > kExtentPerScale * scan_scale_m) break;
    --entry;
  }
  return entry;
}

}  // namespace voxloc
