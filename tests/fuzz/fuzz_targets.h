// SPDX-License-Identifier: Apache-2.0
//
// The targets of tests/fuzz/targets, each a function that decodes any bytes and returns what the
// decoder says of them. It must come back from all of them, and answer the same bytes in the same
// way. The same functions are driven by libFuzzer (libfuzzer_driver.cc) and by the replay of their
// corpora (replay_test.cc). The bytes lie in memory of exactly their size, so that a sanitizer sees
// a read beside them.

#ifndef VOXLOC_TESTS_FUZZ_FUZZ_TARGETS_H_
#define VOXLOC_TESTS_FUZZ_FUZZ_TARGETS_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace voxloc {

[[nodiscard]] absl::Status FuzzAccessFile(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzAlignScanRequest(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzAlignScansRequest(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzBagFile(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzBagMessage(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzCaptureFile(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzCloudKittiBin(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzCloudLas(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzCloudNpy(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzCloudPcd(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzCloudPly(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzCloudText(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzConfiguration(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzEstimateInitialPoseRequest(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzMapBuildText(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzMapFrameText(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzMapProjectorYaml(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzMapRequest(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzMapStore(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzMapYaml(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzMomentsFile(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzProfileText(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzScorePosesRequest(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzSensorCalibration(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzStoredPiece(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzTileCodec(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzTileContent(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzTraceparent(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzTrajectory(absl::string_view bytes);
[[nodiscard]] absl::Status FuzzUpdateMapTilesRequest(absl::string_view bytes);

struct FuzzTarget {
  const char* name;  // of its corpus too
  absl::Status (*decode)(absl::string_view bytes);
  uint64_t mutations;  // how many a replay makes of its corpus
};

// By name.
[[nodiscard]] absl::Span<const FuzzTarget> FuzzTargets();

// Ends the process unless `holds`: what must hold of every result, whatever the bytes.
inline void FuzzRequire(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// Decodes, and requires that an error says something.
inline absl::Status RunFuzzTarget(const FuzzTarget& target, absl::string_view bytes) {
  absl::Status status = target.decode(bytes);
  FuzzRequire(status.ok() || !status.message().empty(), "an error has a message");
  return status;
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_FUZZ_FUZZ_TARGETS_H_
