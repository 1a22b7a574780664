// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/contract_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace voxloc::cli {

bool IsWrapper(const google::protobuf::Descriptor& message) {
  return message.file()->name() == "google/protobuf/wrappers.proto";
}

std::string EnumName(const google::protobuf::EnumValueDescriptor& value) {
  // The first name of each enum is the prefix with UNSPECIFIED.
  const std::string first(value.type()->value(0)->name());
  const std::string prefix(absl::StripSuffix(first, "UNSPECIFIED"));
  return std::string(absl::StripPrefix(std::string(value.name()), prefix));
}

std::string EnumWord(const google::protobuf::EnumValueDescriptor& value) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(EnumName(value)), {{"_", "-"}});
}

}  // namespace voxloc::cli
