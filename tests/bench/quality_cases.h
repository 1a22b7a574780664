// SPDX-License-Identifier: Apache-2.0
//
// Test cases for the confidence: right and wrong poses of a scan, of many kinds, each with the
// estimates that the server would make.
//
// A pose is right within 0.15 m and 0.5 degrees of the truth, counting only errors along directions
// that the scan observes at the truth. Excluded are
//
//   poses indistinguishable from the truth: in another place, or far along unobserved directions,
//     with nearly the likelihood of the same points at the truth;
//   unaligned poses that differ from the truth along unobserved directions: they are neither right
//     nor wrong.

#ifndef VOXLOC_TESTS_BENCH_QUALITY_CASES_H_
#define VOXLOC_TESTS_BENCH_QUALITY_CASES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/estimate/scan_estimate.h"
#include "tests/bench/data_set.h"

namespace voxloc::bench {

enum class Truth { kRight, kWrong, kIndistinguishable, kExcluded };

struct QualityCase {
  std::string set;
  std::string kind;
  Truth truth = Truth::kWrong;
  double distance_m = 0.0;        // from the truth, along observed directions
  double angle_rad = 0.0;         // likewise
  double likelihood_share = 0.0;  // NVTL over that of the same points at the truth
  double transform_probability = 0.0;
  double nvtl = 0.0;
  bool degenerate = false;  // the scan does not observe some axis at the truth
  // A wrong pose at which the points have at least the likelihood that they have at the truth; or,
  // in another place, a likelihood that the gap of HypothesisOptions calls ambiguous.
  bool explains_as_well = false;
  Confidence confidence;
};

// The kinds, in the order in which they are reported.
//
//   tracking       aligned from within 0.5 m and 2 degrees
//   half occluded  the same with half of the turn hidden; from 2 to 6 m beside; from another place
//   beside         not aligned: 0.15 to 1 m or 0.5 to 5 degrees from the truth
//   wrong storey   aligned from 2.7 m above or below
//   shifted        aligned from 0.5 to 6 m beside
//   kidnapped      aligned from another place, turned
//   wrong street   the best of those aligned from other places with the true heading
extern const std::vector<std::string> kQualityKinds;
// The hard kinds, where a confidence differs from a score: all but the last three.
constexpr size_t kHardKinds = 4;

// Of every scan of the set; the same arguments give the same cases.
[[nodiscard]] absl::StatusOr<std::vector<QualityCase>> QualityCasesOf(Engine& engine,
                                                                      const LoadedSet& set,
                                                                      const Profile& profile);

}  // namespace voxloc::bench

#endif  // VOXLOC_TESTS_BENCH_QUALITY_CASES_H_
