// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/admin_client.h"

#include <algorithm>

#include "clients/cpp/calls.h"
#include "core/status/try.h"
#include "voxloc/v1/admin_service.grpc.pb.h"

namespace voxloc::client {

using AdminStub = v1::AdminService::Stub;

absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo(const Channel& channel, double timeout_s) {
  return CallWithFailover(channel, "GetServerInfo", &AdminStub::GetServerInfo,
                          v1::GetServerInfoRequest(), timeout_s);
}

absl::StatusOr<std::vector<v1::SessionInfo>> ListSessions(const Channel& channel,
                                                          const std::string& map,
                                                          double timeout_s) {
  std::vector<v1::SessionInfo> sessions;
  v1::ListSessionsRequest request;
  request.set_map(map);
  do {
    VOXLOC_ASSIGN_OR_RETURN(
        v1::ListSessionsResponse page,
        CallWithFailover(channel, "ListSessions", &AdminStub::ListSessions, request, timeout_s));
    sessions.insert(sessions.end(), page.sessions().begin(), page.sessions().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return sessions;
}

absl::StatusOr<v1::GetConfigResponse> GetConfig(const Channel& channel, double timeout_s) {
  return CallWithFailover(channel, "GetConfig", &AdminStub::GetConfig, v1::GetConfigRequest(),
                          timeout_s);
}

absl::StatusOr<v1::LogLevel> SetLogLevel(const Channel& channel, v1::LogLevel level,
                                         double timeout_s) {
  v1::SetLogLevelRequest request;
  request.set_level(level);
  VOXLOC_ASSIGN_OR_RETURN(
      v1::SetLogLevelResponse response,
      CallOnce(channel, "SetLogLevel", &AdminStub::SetLogLevel, request, timeout_s));
  return response.previous_level();
}

absl::StatusOr<v1::DrainResponse> Drain(const Channel& channel, double grace_s,
                                        const std::string& reason, double timeout_s) {
  v1::DrainRequest request;
  request.set_grace_s(grace_s);
  request.set_reason(reason);
  return CallOnce(channel, "Drain", &AdminStub::Drain, request, timeout_s);
}

absl::StatusOr<v1::UndrainResponse> Undrain(const Channel& channel, double timeout_s) {
  return CallOnce(channel, "Undrain", &AdminStub::Undrain, v1::UndrainRequest(), timeout_s);
}

absl::StatusOr<std::vector<v1::CaptureInfo>> ListCaptures(const Channel& channel,
                                                          v1::ListCapturesRequest request,
                                                          size_t max_captures, double timeout_s) {
  constexpr size_t kMaxPageSize = 1000;  // of the contract
  std::vector<v1::CaptureInfo> captures;
  do {
    const size_t wanted = max_captures == 0 ? kMaxPageSize : max_captures - captures.size();
    request.set_page_size(static_cast<uint32_t>(std::min(wanted, kMaxPageSize)));
    VOXLOC_ASSIGN_OR_RETURN(
        v1::ListCapturesResponse page,
        CallWithFailover(channel, "ListCaptures", &AdminStub::ListCaptures, request, timeout_s));
    captures.insert(captures.end(), page.captures().begin(), page.captures().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty() && (max_captures == 0 || captures.size() < max_captures));
  return captures;
}

absl::StatusOr<v1::Capture> GetCapture(const Channel& channel, const std::string& id,
                                       double timeout_s) {
  v1::GetCaptureRequest request;
  request.set_id(id);
  return MessageIn(
      CallWithFailover(channel, "GetCapture", &AdminStub::GetCapture, request, timeout_s),
      &v1::GetCaptureResponse::mutable_capture);
}

}  // namespace voxloc::client
