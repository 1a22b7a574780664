// SPDX-License-Identifier: Apache-2.0
//
// Messages of the contract as JSON. Pure function.

#ifndef VOXLOC_CLIENTS_CLI_MESSAGE_JSON_H_
#define VOXLOC_CLIENTS_CLI_MESSAGE_JSON_H_

#include <google/protobuf/message.h>

#include "clients/cli/json_output.h"

namespace voxloc::cli {

// Keys are the names of the fields, in the order of the contract, with zeros and empty lists; of a
// oneof the member that is set. Unset messages are null. A v1.Pose is [x, y, z, qx, qy, qz, qw], a
// v1.Vector3 [x, y, z], a wrapper its value, an enum its name without the prefix that all its names
// share, bytes are hexadecimal.
[[nodiscard]] Json MessageJson(const google::protobuf::Message& message);

// A list of them.
template <typename Messages>
[[nodiscard]] Json MessagesJson(const Messages& messages) {
  Json list = Json::array();
  for (const auto& message : messages) list.push_back(MessageJson(message));
  return list;
}

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MESSAGE_JSON_H_
