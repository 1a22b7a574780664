// SPDX-License-Identifier: Apache-2.0
//
// Eventually: waits with a timeout for another thread or process. A test that waits without one
// ends only with the timeout of its whole program.

#ifndef VOXLOC_TESTS_SUPPORT_EVENTUALLY_H_
#define VOXLOC_TESTS_SUPPORT_EVENTUALLY_H_

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace voxloc {

// Far beyond what any wait of a test takes on a loaded machine under a sanitizer.
constexpr absl::Duration kTestTimeout = absl::Seconds(30);

// Whether the condition becomes true within the time; polls every millisecond.
[[nodiscard]] inline bool Eventually(absl::FunctionRef<bool()> condition,
                                     absl::Duration timeout = kTestTimeout) {
  // Real time: waits, with a bound.
  const absl::Time deadline = absl::Now() + timeout;
  while (!condition()) {
    // Real time: as above.
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(1));
  }
  return true;
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_EVENTUALLY_H_
