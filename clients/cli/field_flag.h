// SPDX-License-Identifier: Apache-2.0
//
// Flags that set fields of a message, KEY=VALUE, checked while the command line is read.

#ifndef VOXLOC_CLIENTS_CLI_FIELD_FLAG_H_
#define VOXLOC_CLIENTS_CLI_FIELD_FLAG_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voxloc::cli {

// The flag can be repeated. The keys are those of `prototype`, which must outlive the command, and
// the help lists them. The values keep their text; SetFields reads them.
CLI::Option* AddFieldFlag(CLI::App* command, const std::string& name,
                          const std::string& description,
                          const google::protobuf::Message& prototype,
                          std::vector<std::string>* values);

// `values` as the flag has taken them.
void SetFields(const std::vector<std::string>& values, google::protobuf::Message* message);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FIELD_FLAG_H_
