// SPDX-License-Identifier: Apache-2.0
//
// A server under a mixed load for long, and whether what it occupies grows.

#ifndef VOXLOC_TESTS_CHAOS_SOAK_H_
#define VOXLOC_TESTS_CHAOS_SOAK_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "tests/chaos/report.h"
#include "tests/chaos/server_process.h"

namespace voxloc::chaos {

struct SoakOptions {
  ServerOptions server;
  size_t points = 500;
  double duration_s = 3600.0;
  double sample_s = 10.0;
  double warm_up_s = 120.0;  // whose samples are not judged
  std::string csv;           // empty: none
};

[[nodiscard]] absl::StatusOr<Report> RunSoak(const SoakOptions& options);

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_SOAK_H_
