// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/replay_input.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/dataset/scan_directory.h"
#include "clients/dataset/stamp_text.h"
#include "clients/dataset/trajectory_file.h"
#include "core/status/try.h"

namespace voxloc::cli {

absl::StatusOr<ReplayInput> ReadReplayInput(const ReplayFiles& files) {
  VOXLOC_ASSIGN_OR_RETURN(const TrajectoryFormat format, TrajectoryFormatNamed(files.pose_format));
  ReplayInput input;
  VOXLOC_ASSIGN_OR_RETURN(std::vector<std::string> scans, ListClouds(files.scans));
  input.scans = std::move(scans);
  VOXLOC_ASSIGN_OR_RETURN(input.order, PairingOrder(input.scans));
  VOXLOC_ASSIGN_OR_RETURN(input.truth, ReadPoses(files.poses, format, files.calibration));
  if (input.truth.size() != input.scans.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.scans, " has ", input.scans.size(), " scans, but ", files.poses, " has ",
                     input.truth.size(), " poses; there must be one for each"));
  }
  if (!files.guesses.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(const std::vector<StampedPose> guesses,
                            ReadPoses(files.guesses, format, files.calibration));
    if (guesses.size() != input.scans.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(files.scans, " has ", input.scans.size(), " scans, but ", files.guesses,
                       " has ", guesses.size(), " guesses; there must be one for each"));
    }
    for (const StampedPose& guess : guesses) input.guesses.push_back(guess.pose);
  }
  if (files.max_scans > 0 && files.max_scans < input.scans.size()) {
    input.scans.resize(files.max_scans);
    input.truth.resize(files.max_scans);
    if (!input.guesses.empty()) input.guesses.resize(files.max_scans);
  }
  input.notes.remarks = RemarksOnClouds(input.scans, files.read);
  input.notes.remarks.push_back(absl::StrCat("poses are paired with the scans ", input.order));
  if (!files.calibration.empty()) {
    input.notes.remarks.push_back(absl::StrCat(
        "the poses are a camera's, and are moved to the LiDAR by ", files.calibration));
  } else if (std::optional<std::string> warning = AxesWarning(input.truth); warning.has_value()) {
    input.notes.warnings.push_back(*std::move(warning));
  }
  return input;
}

ReplayInput ReplayInputOf(const bag::Drive& drive, bool guesses) {
  ReplayInput input;
  for (const bag::DriveScan& scan : drive.scans()) {
    input.scans.push_back(SecondsFromNanoseconds(scan.stamp_ns));
    input.truth.push_back({scan.stamp_ns, scan.map_T_base});
    if (guesses) input.guesses.push_back(scan.guess_map_T_base);
  }
  return input;
}

Pose GuessSource::GuessFor(size_t index, const std::optional<Pose>& previous) const {
  Pose guess = input_.truth[index].pose;
  if (kind_ == Kind::kPrevious && previous.has_value()) guess = *previous;
  if (kind_ == Kind::kFile) guess = input_.guesses[index];
  if (!perturbation_.has_value()) return guess;
  return Perturb(guess, *perturbation_, seed_, index);
}

}  // namespace voxloc::cli
