// SPDX-License-Identifier: Apache-2.0
//
// What a scenario has found. A plain value.

#ifndef VOXLOC_TESTS_CHAOS_REPORT_H_
#define VOXLOC_TESTS_CHAOS_REPORT_H_

#include <string>
#include <vector>

#include "clients/cli/output/output.h"

namespace voxloc::chaos {

struct Report {
  cli::Json json;
  std::vector<std::string> violations;  // of what the scenario demands, a line each

  void Require(bool met, const std::string& violation) {
    if (!met) violations.push_back(violation);
  }
};

}  // namespace voxloc::chaos

#endif  // VOXLOC_TESTS_CHAOS_REPORT_H_
