// SPDX-License-Identifier: Apache-2.0
//
// A golden set moved to coordinates as maps in MGRS or UTM frames have them.

#ifndef VOXLOC_TESTS_GOLDEN_MOVED_SET_H_
#define VOXLOC_TESTS_GOLDEN_MOVED_SET_H_

#include "tests/support/golden_set.h"

namespace voxloc::golden {

// 1e5 m along x and y, a multiple of the cell size. The map, the guesses and the reference's
// results move exactly; the poses from which the reference takes the covariances of MULTI_NDT and
// MULTI_NDT_SCORE are in addition rounded to float32, as it stores poses.
GoldenSet MovedFarFromTheOrigin(GoldenSet set);

}  // namespace voxloc::golden

#endif  // VOXLOC_TESTS_GOLDEN_MOVED_SET_H_
