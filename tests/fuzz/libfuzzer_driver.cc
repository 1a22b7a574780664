// SPDX-License-Identifier: Apache-2.0
//
// The entry points of the libFuzzer program. The environment variable VOXLOC_FUZZ_TARGET names its
// target.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/fuzz_targets.h"

namespace {

const voxloc::FuzzTarget* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* name = std::getenv("VOXLOC_FUZZ_TARGET");
  for (const voxloc::FuzzTarget& target : voxloc::FuzzTargets()) {
    if (name != nullptr && absl::string_view(name) == target.name) chosen = &target;
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "VOXLOC_FUZZ_TARGET is '%s'; allowed are", name == nullptr ? "" : name);
    for (const auto& target : voxloc::FuzzTargets()) std::fprintf(stderr, " %s", target.name);
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)voxloc::RunFuzzTarget(*chosen, {reinterpret_cast<const char*>(data), size});
  return 0;
}
