// SPDX-License-Identifier: Apache-2.0
//
// FuzzTarget: what each target of tests/fuzz/targets defines. The same function is driven by
// libFuzzer (libfuzzer_driver.cc) and by the replay of its corpus (replay_test.cc).

#ifndef VOXLOC_TESTS_FUZZ_FUZZ_TARGET_H_
#define VOXLOC_TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstdio>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc {

// Decodes any bytes, and returns what the decoder says of them. Must come back from all of them,
// and answer the same bytes in the same way. `bytes` lie in memory of exactly this size, so that a
// sanitizer sees a read beside them.
[[nodiscard]] absl::Status FuzzTarget(absl::string_view bytes);

// Ends the process unless `holds`: what must hold of every result, whatever the bytes.
inline void FuzzRequire(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// FuzzTarget, of which every error says something.
inline absl::Status RunFuzzTarget(absl::string_view bytes) {
  absl::Status status = FuzzTarget(bytes);
  FuzzRequire(status.ok() || !status.message().empty(), "an error has a message");
  return status;
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_FUZZ_FUZZ_TARGET_H_
