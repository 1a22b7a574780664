// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/field_flag.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/message_field.h"

namespace voxloc::cli {

CLI::Option* AddFieldFlag(CLI::App* command, const std::string& name,
                          const std::string& description,
                          const google::protobuf::Message& prototype,
                          std::vector<std::string>* values) {
  const std::string keys = absl::StrJoin(FieldKeys(*prototype.GetDescriptor()), ", ");
  return command
      ->add_option(name, *values, absl::StrCat(description, "; can be repeated. KEY is ", keys))
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->check([&prototype](const std::string& text) {
        const std::unique_ptr<google::protobuf::Message> scratch(prototype.New());
        return std::string(SetField(text, scratch.get()).message());
      });
}

void SetFields(const std::vector<std::string>& values, google::protobuf::Message* message) {
  for (const std::string& value : values) SetField(value, message).IgnoreError();
}

}  // namespace voxloc::cli
