// SPDX-License-Identifier: Apache-2.0
//
// The tail of the standard normal distribution. Pure functions.

#ifndef VOXLOC_CORE_ESTIMATE_INTEGRITY_GAUSSIAN_TAIL_H_
#define VOXLOC_CORE_ESTIMATE_INTEGRITY_GAUSSIAN_TAIL_H_

#include <cmath>

namespace voxloc {

// Probability that a standard normal number is over x.
[[nodiscard]] inline double UpperTail(double x) { return 0.5 * std::erfc(x * M_SQRT1_2); }

// The number that a standard normal one is over with this probability, in (0, 0.5].
[[nodiscard]] inline double UpperTailQuantile(double probability) {
  // The tail is 0 in double precision from 39 on.
  double low = 0.0;
  double high = 40.0;
  // Halves the bracket down to the last bit.
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (UpperTail(middle) > probability ? low : high) = middle;
  }
  return high;
}

}  // namespace voxloc

#endif  // VOXLOC_CORE_ESTIMATE_INTEGRITY_GAUSSIAN_TAIL_H_
