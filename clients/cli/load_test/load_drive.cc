// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/load_drive.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/output/progress.h"
#include "clients/cli/output/text_table.h"
#include "clients/cpp/messages.h"
#include "core/status/try.h"

namespace voxloc::cli {

Pose LoadDrive::GuessAt(double position) const {
  const auto count = static_cast<double>(guesses_map_T_base.size());
  const double cyclic = position - count * std::floor(position / count);
  const size_t before = IndexAt(static_cast<uint64_t>(cyclic));
  const size_t after = IndexAt(before + 1);
  const double share = cyclic - std::floor(cyclic);
  const Pose& from = guesses_map_T_base[before];
  const Pose& to = guesses_map_T_base[after];
  if (after <= before) return share < 0.5 ? from : to;
  return {(1.0 - share) * from.translation + share * to.translation,
          from.rotation.slerp(share, to.rotation)};
}

absl::StatusOr<std::vector<LoadDrive>> ReadLoadDrives(const LoadDriveOptions& options) {
  std::vector<ReplayInput> inputs;
  size_t scans = 0;
  for (const ReplayFiles& files : options.files) {
    VOXLOC_ASSIGN_OR_RETURN(ReplayInput input, ReadReplayInput(files));
    scans += input.scans.size();
    PrintNotes(input.notes);
    inputs.push_back(std::move(input));
  }
  ProgressBar progress("reading", "scans", scans);
  std::vector<LoadDrive> drives(inputs.size());
  uint64_t bytes = 0;
  size_t done = 0;
  for (size_t d = 0; d < drives.size(); ++d) {
    const ReplayInput& input = inputs[d];
    const GuessSource guesses(
        input, input.guesses.empty() ? GuessSource::Kind::kTruth : GuessSource::Kind::kFile,
        options.perturbation, options.scan.seed);
    for (size_t i = 0; i < input.scans.size(); ++i) {
      VOXLOC_ASSIGN_OR_RETURN(const PointCloud scan, ReadScan(input.scans[i], options.scan));
      v1::Cloud& encoded = drives[d].scans.emplace_back();
      client::EncodeCloud(scan, &encoded);
      drives[d].guesses_map_T_base.push_back(guesses.GuessFor(i, std::nullopt));
      drives[d].points += scan.size();
      bytes += encoded.data().size();
      if (bytes > kMaxDriveBytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the scans must take at most ", ByteText(kMaxDriveBytes),
                         " of memory (got more after ", done, " of ", scans,
                         " scans); thin them with --leaf or --points, or send fewer with "
                         "--max-scans"));
      }
      progress.Update(++done);
    }
  }
  return drives;
}

}  // namespace voxloc::cli
