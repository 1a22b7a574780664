// SPDX-License-Identifier: Apache-2.0
//
// The flags of commands that take a recorded drive out of a bag of ROS: --bag, the topics and the
// frames.

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_BAG_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_BAG_FLAGS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/drive.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voxloc::cli {

struct BagFlags {
  std::vector<std::string> paths;  // empty: no bag
  std::string points_topic;
  std::string poses_topic;
  std::string map_frame;
  std::string base_frame;
};

// The option --bag; those of topics and frames need it.
CLI::Option* AddBagFlags(CLI::App* command, BagFlags* flags);

// What a command says of the drive beside these flags.
struct BagDriveFlags {
  std::string poses_file;     // tum; empty: the bag's poses
  std::string guesses_topic;  // empty: none
  std::string base_T_sensor;  // X,Y,Z,ROLL,PITCH,YAW; empty: by the bag's frames
  size_t max_scans = 0;       // 0: all
};

// Opens the drive. Standard error shows the progress and then what was chosen, a line each.
[[nodiscard]] absl::StatusOr<std::unique_ptr<bag::Drive>> OpenDrive(const BagFlags& flags,
                                                                    const BagDriveFlags& drive);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_BAG_FLAGS_H_
