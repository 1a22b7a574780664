// SPDX-License-Identifier: Apache-2.0
//
// What a replay is made of: scans in order, the true pose of each, and where each guess comes from.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_INPUT_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_INPUT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/drive.h"
#include "clients/dataset/perturbation.h"
#include "clients/dataset/scan_directory.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/io/cloud_file.h"

namespace voxloc::cli {

struct ReplayFiles {
  std::string scans;    // a directory of clouds, or one cloud
  std::string poses;    // a true map_T_base for each
  std::string guesses;  // a guess for each; empty: none
  std::string pose_format = "kitti";
  std::string calibration;  // KITTI's, with which poses and guesses are its camera's; empty: none
  size_t max_scans = 0;     // 0: all
  CloudReadOptions read;
};

struct ReplayInput {
  std::vector<std::string> scans;  // paths of files, or stamps in a bag
  std::vector<StampedPose> truth;
  std::vector<Pose> guesses;  // empty: not given
  std::string order;          // of the files, which pairs them with the poses, in words
  InputNotes notes;           // on how the files are read, for the user
};

// InvalidArgument: the counts differ, of which the message has both; or PairingOrder's.
[[nodiscard]] absl::StatusOr<ReplayInput> ReadReplayInput(const ReplayFiles& files);

// The scans of a bag by their stamps, in seconds. `guesses`: the drive has them.
[[nodiscard]] ReplayInput ReplayInputOf(const bag::Drive& drive, bool guesses);

// Where the search for a scan starts.
class GuessSource {
 public:
  enum class Kind { kTruth, kPrevious, kFile };

  // `input` must outlive the source.
  GuessSource(const ReplayInput& input, Kind kind, std::optional<Perturbation> perturbation,
              uint64_t seed)
      : input_(input), kind_(kind), perturbation_(std::move(perturbation)), seed_(seed) {}

  // `previous`: the pose of the newest answer that has one; without any the truth is used.
  [[nodiscard]] Pose GuessFor(size_t index, const std::optional<Pose>& previous) const;

 private:
  const ReplayInput& input_;
  Kind kind_;
  std::optional<Perturbation> perturbation_;
  uint64_t seed_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_INPUT_H_
