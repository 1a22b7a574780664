// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/rpc_status.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/status.pb.h"

namespace voxloc::client {

absl::Status ToAbslStatus(const grpc::Status& status, absl::string_view server,
                          absl::string_view call) {
  if (status.ok()) return absl::OkStatus();
  const int number = static_cast<int>(status.error_code());
  const bool known = number >= 1 && number <= 16;
  const auto code = known ? static_cast<absl::StatusCode>(number) : absl::StatusCode::kUnknown;
  const std::string said = status.error_message();
  absl::Status result(
      code, absl::StrCat(server, " ", call, ": ", said.empty() ? "no reason given" : said));
  google::rpc::Status details;
  if (details.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : details.details()) {
      result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  return result;
}

}  // namespace voxloc::client
