// SPDX-License-Identifier: Apache-2.0
//
// Fields of a message that people set by name, KEY=VALUE, and flags that take them.
//
// A key is the name of a field, "max_iterations", or, for one in a message within, the names joined
// by points, "validation.max_delay_s". Fields that are numbers, truth values, enums, or wrappers of
// these can be set; repeated ones and texts cannot.

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_FIELD_FLAG_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_FIELD_FLAG_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voxloc::cli {

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

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_FIELD_FLAG_H_
