// SPDX-License-Identifier: Apache-2.0
//
// Flags whose value is a list of six numbers, checked while the command line is read.

#ifndef VOXLOC_CLIENTS_CLI_POSE_FLAG_H_
#define VOXLOC_CLIENTS_CLI_POSE_FLAG_H_

#include <string>

namespace CLI {
class App;
}

namespace voxloc::cli {

// X,Y,Z,ROLL,PITCH,YAW. The value keeps its text; ParsePoseText reads it.
void AddPoseFlag(CLI::App* command, const std::string& name, const std::string& description,
                 std::string* value);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_POSE_FLAG_H_
