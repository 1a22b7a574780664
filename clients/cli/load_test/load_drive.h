// SPDX-License-Identifier: Apache-2.0
//
// A drive as load tests send it: its scans read, thinned and encoded before the run, and the guess
// of each. The streams of a load test share it and each goes through it again and again.

#ifndef VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_DRIVE_H_
#define VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_DRIVE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/flags/scan_flags.h"
#include "clients/cli/replay/replay_input.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::cli {

// Most bytes that the encoded points of all drives may take.
constexpr uint64_t kMaxDriveBytes = uint64_t{4} << 30;

struct LoadDrive {
  std::vector<v1::Cloud> scans;
  std::vector<Pose> guesses_map_T_base;  // one for each scan
  uint64_t points = 0;                   // of all scans together

  [[nodiscard]] size_t IndexAt(uint64_t position) const { return position % scans.size(); }

  // Between the guesses of the scans around the position, counted in scans; the scans repeat. From
  // the last scan to the first there is no way: each half belongs to the nearer one.
  [[nodiscard]] Pose GuessAt(double position) const;
};

struct LoadDriveOptions {
  std::vector<ReplayFiles> files;            // a drive each
  std::optional<Perturbation> perturbation;  // of every guess
  ScanFlags scan;  // how scans are read and thinned; its seed also of the perturbation
};

// Shows on standard error how far reading is. Errors of the files and of the thinning, which name
// the file; ResourceExhausted: more than kMaxDriveBytes.
[[nodiscard]] absl::StatusOr<std::vector<LoadDrive>> ReadLoadDrives(
    const LoadDriveOptions& options);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_LOAD_TEST_LOAD_DRIVE_H_
