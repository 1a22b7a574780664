// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/admin/captures.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/errors/error_details.h"
#include "server/rpc/support/page_size.h"

namespace voxloc::server {
namespace {

constexpr uint32_t kDefaultCaptures = 100;
constexpr uint32_t kMostCaptures = 1000;
// An id is a prefix of the server's start and a number; more of what a caller sends is not
// repeated.
constexpr size_t kMostShownIdBytes = 64;

// The token of a page is the place of the last capture of the page before: captures come and go
// between two pages, and none that stays is left out.
std::string TokenOf(const v1::CaptureInfo& info) {
  return absl::StrCat(info.captured_at_ns(), "/", info.id());
}

absl::StatusOr<std::optional<CaptureStore::Place>> PlaceOf(const std::string& token) {
  if (token.empty()) return std::optional<CaptureStore::Place>();
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(token, absl::MaxSplits('/', 1));
  CaptureStore::Place place(0, parts.second);
  if (place.second.empty() || !absl::SimpleAtoi(parts.first, &place.first)) {
    return absl::InvalidArgumentError("page_token must be one that ListCaptures returned");
  }
  return std::optional<CaptureStore::Place>(std::move(place));
}

absl::Status NoCapture(const std::string& id) {
  return WithReason(
      absl::NotFoundError(absl::StrCat("there is no capture '",
                                       absl::CEscape(id.substr(0, kMostShownIdBytes)), "'")),
      "CAPTURE_NOT_FOUND");
}

}  // namespace

absl::Status ListCaptures(const Runtime& runtime, const CallAccess& access,
                          const v1::ListCapturesRequest& request,
                          v1::ListCapturesResponse& response) {
  const auto size = PageSize(request.page_size(), kDefaultCaptures, kMostCaptures);
  if (!size.ok()) return size.status();
  const auto before = PlaceOf(request.page_token());
  if (!before.ok()) return before.status();
  const auto store = runtime.captures.store();
  if (!store.ok()) return store.status();
  const auto wanted = [&request, &access](const v1::CaptureInfo& info) {
    return (request.map().empty() || info.map() == request.map()) && access.Sees(info.map());
  };
  // One more than the page holds tells whether there is a next one.
  std::vector<v1::CaptureInfo> captures = (*store)->List(*before, wanted, *size + 1);
  const bool more = captures.size() > *size;
  if (more) captures.pop_back();
  if (more) response.set_next_page_token(TokenOf(captures.back()));
  for (v1::CaptureInfo& info : captures) *response.add_captures() = std::move(info);
  return absl::OkStatus();
}

absl::Status GetCapture(const Runtime& runtime, const CallAccess& access,
                        const v1::GetCaptureRequest& request, v1::GetCaptureResponse& response) {
  const auto store = runtime.captures.store();
  if (!store.ok()) return store.status();
  const std::optional<v1::CaptureInfo> info = (*store)->Find(request.id());
  if (!info.has_value() || !access.Sees(info->map())) return NoCapture(request.id());
  const uint64_t most = runtime.live.limits()->max_message_bytes;
  if (info->bytes() > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("capture '", info->id(), "' has ", info->bytes(),
                     " bytes, and limits.max_message_bytes allows ", most,
                     " in a reply; start the server with a larger limit to get it"));
  }
  absl::StatusOr<v1::Capture> capture = (*store)->Read(request.id());
  if (absl::IsNotFound(capture.status())) return NoCapture(request.id());
  if (!capture.ok()) return capture.status();
  *response.mutable_capture() = *std::move(capture);
  return absl::OkStatus();
}

}  // namespace voxloc::server
