// SPDX-License-Identifier: Apache-2.0
//
// What people see while a scenario runs. Thread-safe.

#ifndef VOXLOC_TESTS_CHAOS_PROGRESS_H_
#define VOXLOC_TESTS_CHAOS_PROGRESS_H_

#include <string>

namespace voxloc::chaos {

// A line on standard error, with the seconds since the first.
void Progress(const std::string& line);

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_PROGRESS_H_
