// SPDX-License-Identifier: Apache-2.0
//
// The audit record of unary requests: the revision, and what they change. Empty for requests that
// change nothing.

#ifndef VOXLOC_SERVER_RPC_SUPPORT_AUDITED_CHANGE_H_
#define VOXLOC_SERVER_RPC_SUPPORT_AUDITED_CHANGE_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "voxloc/v1/admin_service.pb.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

struct AuditedChange {
  uint64_t revision = 0;  // 0: none
  std::string detail;
  std::string map{};  // where the request does not name it
};

template <typename Request, typename Response>
AuditedChange ChangeOf(const Request& /*request*/, const Response& /*response*/) {
  return {};
}
inline AuditedChange ChangeOf(const v1::DeleteMapRequest& /*request*/,
                              const v1::DeleteMapResponse& response) {
  return {response.revision(), "deleted"};
}
inline AuditedChange ChangeOf(const v1::UndeleteMapRequest& /*request*/,
                              const v1::UndeleteMapResponse& response) {
  return {response.map().revision(), "undeleted"};
}
inline AuditedChange ChangeOf(const v1::ActivateRevisionRequest& request,
                              const v1::ActivateRevisionResponse& /*response*/) {
  return {request.revision(), "activated"};
}
inline AuditedChange ChangeOf(const v1::WithdrawRevisionRequest& request,
                              const v1::WithdrawRevisionResponse& /*response*/) {
  return {request.revision(), "withdrawn"};
}
inline AuditedChange ChangeOf(const v1::SetCanaryRequest& request,
                              const v1::SetCanaryResponse& /*response*/) {
  return {request.revision(), absl::StrCat("canary vehicles: ", request.vehicles_size())};
}
inline AuditedChange ChangeOf(const v1::SetLogLevelRequest& request,
                              const v1::SetLogLevelResponse& /*response*/) {
  return {0, absl::StrCat("log level: ", static_cast<int>(request.level()))};
}
inline AuditedChange ChangeOf(const v1::DrainRequest& request, const v1::DrainResponse& response) {
  return {0, absl::StrCat("drain in ", response.remaining_s(), " s: ", request.reason())};
}
inline AuditedChange ChangeOf(const v1::UndrainRequest& /*request*/,
                              const v1::UndrainResponse& /*response*/) {
  return {0, "drain taken back"};
}
inline AuditedChange ChangeOf(const v1::GetCaptureRequest& request,
                              const v1::GetCaptureResponse& response) {
  constexpr size_t kMaxIdBytes = 64;
  const v1::CaptureInfo& info = response.capture().info();
  return {info.map_revision(), absl::StrCat("capture: ", request.id().substr(0, kMaxIdBytes)),
          info.map()};
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_RPC_SUPPORT_AUDITED_CHANGE_H_
