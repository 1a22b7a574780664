// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/integrity/gaussian_tail.h"

#include <cmath>

namespace voxloc {

double UpperTail(double x) { return 0.5 * std::erfc(x * M_SQRT1_2); }

double UpperTailQuantile(double probability) {
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
