// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/admin/list_sessions.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/rpc/support/page_size.h"

namespace voxloc::server {
namespace {

constexpr uint32_t kDefaultSessions = 100;
constexpr uint32_t kMostSessions = 1000;

void SessionToProto(const SessionFacts& facts, v1::SessionInfo& proto) {
  proto.set_session(facts.session);
  proto.set_vehicle(facts.vehicle);
  proto.set_peer(facts.peer);
  proto.set_map(facts.map);
  proto.set_map_revision(facts.map_revision);
  proto.set_profile(facts.profile);
  proto.set_active(facts.active);
  proto.set_opened_at_ns(facts.opened_unix_ns);
  proto.set_answered_at_ns(facts.answered_unix_ns);
  proto.set_answered(facts.answered);
  proto.set_accepted(facts.accepted);
  proto.set_unanswered(facts.unanswered);
  proto.set_status(static_cast<v1::AlignmentStatus>(facts.status));
}

}  // namespace

// The token of a page is the number of the last session of the page before: sessions come and go
// between two pages, and none that stays is left out.
absl::Status ListSessions(const Runtime& runtime, const CallAccess& access,
                          const v1::ListSessionsRequest& request,
                          v1::ListSessionsResponse& response) {
  const auto size = PageSize(request.page_size(), kDefaultSessions, kMostSessions);
  if (!size.ok()) return size.status();
  uint64_t after = 0;
  if (!request.page_token().empty() && !absl::SimpleAtoi(request.page_token(), &after)) {
    return absl::InvalidArgumentError("page_token must be one that ListSessions returned");
  }
  // One more than the page holds tells whether there is a next one.
  const auto wanted = [&request, &access](const std::string& map) {
    return (request.map().empty() || map == request.map()) && access.Sees(map);
  };
  auto sessions = runtime.sessions.List(after, wanted, *size + 1);
  const bool more = sessions.size() > *size;
  if (more) sessions.pop_back();
  for (const auto& [number, facts] : sessions) SessionToProto(facts, *response.add_sessions());
  if (more) response.set_next_page_token(absl::StrCat(sessions.back().first));
  return absl::OkStatus();
}

}  // namespace voxloc::server
