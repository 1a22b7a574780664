// SPDX-License-Identifier: Apache-2.0
//
// Flags with one value, as commands add them: NAME TYPE, with a help text; and those whose value is
// several numbers, a pose, or a field of a message.

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_OPTION_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_OPTION_H_

#include <google/protobuf/message.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/geometry.pb.h"

namespace voxloc::cli {

template <typename T>
CLI::Option* AddOption(CLI::App* command, const std::string& name, T& value,
                       const std::string& type, const std::string& help) {
  return command->add_option(name, value, help)->type_name(type);
}

// The help also shows what `value` is before the command line is read.
template <typename T>
CLI::Option* AddDefaulted(CLI::App* command, const std::string& name, T& value,
                          const std::string& type, const std::string& help) {
  return AddOption(command, name, value, type, help)->capture_default_str();
}

// The help shows neither a default nor a range: what is not given is left to the server, or not
// limited.
template <typename T>
CLI::Option* AddOptional(CLI::App* command, const std::string& name, T& value,
                         const std::string& type, const std::string& help) {
  return command->add_option(name, value, help)->option_text(type);
}

// Numbers and poses as people type them, and flags that take them, checked while the command line
// is read. A pose is X,Y,Z,ROLL,PITCH,YAW in metres and degrees, with the angles of ROS (R =
// Rz(yaw) Ry(pitch) Rx(roll)).

// `min_count` to `max_count` finite numbers, spaces around them allowed. `names` is how messages
// call them, such as "X,Y,Z,ROLL,PITCH,YAW".
[[nodiscard]] absl::StatusOr<std::vector<double>> ParseNumbers(absl::string_view text,
                                                               absl::string_view names,
                                                               size_t min_count, size_t max_count);

// Six of them.
[[nodiscard]] absl::StatusOr<std::array<double, 6>> ParseSixNumbers(absl::string_view text,
                                                                    absl::string_view names);

// Six numbers, metres and degrees.
[[nodiscard]] absl::StatusOr<Pose> ParsePoseText(absl::string_view text);

// The value keeps its text; ParseNumbers reads it. `names`, `min_count`, `max_count` as there.
CLI::Option* AddNumbersFlag(CLI::App* command, const std::string& name, const std::string& names,
                            size_t min_count, size_t max_count, const std::string& description,
                            std::string* value);

// X0,Y0,Z0,X1,Y1,Z1: the lower and the upper corner; ParseBox reads it.
CLI::Option* AddBoxFlag(CLI::App* command, const std::string& name, const std::string& description,
                        std::string* value);
[[nodiscard]] absl::Status ParseBox(absl::string_view text, v1::Box* box);

// --perturb; ParsePerturbation reads it.
void AddPerturbFlag(CLI::App* command, std::string* value);

// --calib FILE: ReadPoses (trajectory_file.h) takes it.
CLI::Option* AddCalibrationFlag(CLI::App* command, std::string* file);

// `name`, such as --pose-format: TrajectoryFormatNamed takes it.
void AddPoseFormatFlag(CLI::App* command, const std::string& name, const std::string& description,
                       std::string* format);

// X,Y,Z,ROLL,PITCH,YAW; ParsePoseText reads it.
CLI::Option* AddPoseFlag(CLI::App* command, const std::string& name, const std::string& description,
                         std::string* value);

// Fields of a message that people set by name, KEY=VALUE, and flags that take them.
//
// A key is the name of a field, "max_iterations", or, for one in a message within, the names joined
// by points, "validation.max_delay_s". Fields that are numbers, truth values, enums, or wrappers of
// these can be set; repeated ones and texts cannot.

// The keys of a message, in the order of the contract.
[[nodiscard]] std::vector<std::string> FieldKeys(const google::protobuf::Descriptor& message);

// Truth values are true or false, enums words such as more-thuente. InvalidArgument: no KEY=VALUE,
// an unknown key (the message suggests the nearest one), a value of another kind; nothing changes
// then. Ranges are for the server to check.
[[nodiscard]] absl::Status SetField(absl::string_view assignment,
                                    google::protobuf::Message* message);

// The flag can be repeated. The keys are those of `prototype`, which must outlive the command, and
// the help lists them. The values keep their text; SetFields reads them.
CLI::Option* AddFieldFlag(CLI::App* command, const std::string& name,
                          const std::string& description,
                          const google::protobuf::Message& prototype,
                          std::vector<std::string>* values);

// `values` as the flag has taken them.
void SetFields(const std::vector<std::string>& values, google::protobuf::Message* message);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_OPTION_H_
