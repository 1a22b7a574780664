// SPDX-License-Identifier: Apache-2.0
//
// How people and scripts call what the contract defines. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_CONTRACT_NAMES_H_
#define VOXLOC_CLIENTS_CLI_CONTRACT_NAMES_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_enum_reflection.h>

#include <string>

namespace voxloc::cli {

// A message that stands for one optional value, such as google.protobuf.DoubleValue.
[[nodiscard]] bool IsWrapper(const google::protobuf::Descriptor& message);

// The name without the prefix that all names of the enum share: "MORE_THUENTE".
[[nodiscard]] std::string EnumName(const google::protobuf::EnumValueDescriptor& value);

// The same as people type it: "more-thuente".
[[nodiscard]] std::string EnumWord(const google::protobuf::EnumValueDescriptor& value);

// The word of a value; its number where it has no name here, since a newer server has sent it.
template <typename Enum>
[[nodiscard]] std::string EnumWordOf(Enum value) {
  const int number = static_cast<int>(value);
  const auto* known = google::protobuf::GetEnumDescriptor<Enum>()->FindValueByNumber(number);
  return known == nullptr ? std::to_string(number) : EnumWord(*known);
}

// The same, but `otherwise` for a value without a name and for UNSPECIFIED, the first of each enum.
template <typename Enum>
[[nodiscard]] std::string EnumWordOr(Enum value, const std::string& otherwise) {
  const auto* known =
      google::protobuf::GetEnumDescriptor<Enum>()->FindValueByNumber(static_cast<int>(value));
  return known == nullptr || known->index() == 0 ? otherwise : EnumWord(*known);
}

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CONTRACT_NAMES_H_
