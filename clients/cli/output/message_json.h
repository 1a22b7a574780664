// SPDX-License-Identifier: Apache-2.0
//
// Messages of the contract as JSON, and how people and scripts call what the contract defines. Pure
// functions.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_MESSAGE_JSON_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_MESSAGE_JSON_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_enum_reflection.h>
#include <google/protobuf/message.h>

#include <map>
#include <string>

#include "clients/cli/output/output.h"

namespace voxloc::cli {

// Whether it is a wrapper of one optional value, such as google.protobuf.DoubleValue.
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

// All values but UNSPECIFIED, the first of each enum, by their words.
template <typename Enum>
[[nodiscard]] std::map<std::string, Enum> EnumWords() {
  std::map<std::string, Enum> words;
  const auto& type = *google::protobuf::GetEnumDescriptor<Enum>();
  for (int v = 1; v < type.value_count(); ++v) {
    words[EnumWord(*type.value(v))] = static_cast<Enum>(type.value(v)->number());
  }
  return words;
}

// Keys are the names of the fields, in the order of the contract, with zeros and empty lists; of a
// oneof the member that is set. Unset messages are null. A v1.Pose is [x, y, z, qx, qy, qz, qw], a
// v1.Vector3 [x, y, z], a wrapper its value, an enum its name without the prefix that all its names
// share, bytes are hexadecimal.
[[nodiscard]] Json MessageJson(const google::protobuf::Message& message);

// A list of them.
template <typename Messages>
[[nodiscard]] Json MessagesJson(const Messages& messages) {
  return ListJson(messages, &MessageJson);
}

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_MESSAGE_JSON_H_
