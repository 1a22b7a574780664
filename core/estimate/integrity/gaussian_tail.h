// SPDX-License-Identifier: Apache-2.0
//
// The tail of the standard normal distribution. Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_INTEGRITY_GAUSSIAN_TAIL_H_
#define VOXLOC_CORE_ESTIMATE_INTEGRITY_GAUSSIAN_TAIL_H_

namespace voxloc {

// Probability that a standard normal number is over x.
[[nodiscard]] double UpperTail(double x);

// The number that a standard normal one is over with this probability, in (0, 0.5].
[[nodiscard]] double UpperTailQuantile(double probability);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INTEGRITY_GAUSSIAN_TAIL_H_
