// SPDX-License-Identifier: Apache-2.0
//
// How people and scripts call what the contract defines. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_CONTRACT_NAMES_H_
#define VOXLOC_CLIENTS_CLI_CONTRACT_NAMES_H_

#include <google/protobuf/descriptor.h>

#include <string>

namespace voxloc::cli {

// A message that stands for one optional value, such as google.protobuf.DoubleValue.
[[nodiscard]] bool IsWrapper(const google::protobuf::Descriptor& message);

// The name without the prefix that all names of the enum share: "MORE_THUENTE".
[[nodiscard]] std::string EnumName(const google::protobuf::EnumValueDescriptor& value);

// The same as people type it: "more-thuente".
[[nodiscard]] std::string EnumWord(const google::protobuf::EnumValueDescriptor& value);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CONTRACT_NAMES_H_
