// SPDX-License-Identifier: Apache-2.0
//
// Flags whose value is a list of numbers, checked while the command line is read.

#ifndef VOXLOC_CLIENTS_CLI_POSE_FLAG_H_
#define VOXLOC_CLIENTS_CLI_POSE_FLAG_H_

#include <cstddef>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voxloc::cli {

// The value keeps its text; ParseNumbers reads it. `names`, `least` and `most` as there.
CLI::Option* AddNumbersFlag(CLI::App* command, const std::string& name, const std::string& names,
                            size_t least, size_t most, const std::string& description,
                            std::string* value);

// Six; ParseSixNumbers reads them.
CLI::Option* AddSixNumbersFlag(CLI::App* command, const std::string& name, const std::string& names,
                               const std::string& description, std::string* value);

// --calib FILE: ReadPoses (camera_poses.h) takes it.
CLI::Option* AddCalibrationFlag(CLI::App* command, std::string* file);

// X,Y,Z,ROLL,PITCH,YAW; ParsePoseText reads it.
CLI::Option* AddPoseFlag(CLI::App* command, const std::string& name, const std::string& description,
                         std::string* value);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_POSE_FLAG_H_
