// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/progress.h"

#include <chrono>
#include <cstdio>

namespace voxloc::chaos {

void Progress(const std::string& line) {
  static const auto begin = std::chrono::steady_clock::now();
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "%7.1f s  %s\n", since.count(), line.c_str());
}

}  // namespace voxloc::chaos
