// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/upload_report.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/output/map_text.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

using Clock = std::chrono::steady_clock;

// With 0.1 s at first and 5 s at most about 70 s: a server that is restarted is back by then.
constexpr int kMaxUploadAttempts = 20;

bool ChangesNothing(const v1::UpdateCommitted& committed) {
  return committed.tiles_added() + committed.tiles_replaced() + committed.tiles_removed() == 0;
}

}  // namespace

std::string UploadText(const std::string& label, size_t tiles,
                       const client::UploadProgress& progress, double seconds, bool bar) {
  if (!progress.broken.ok()) {
    return absl::StrFormat("%s: the connection was lost (%s); again in %.1f s", label,
                           std::string(progress.broken.message()), progress.wait_s);
  }
  const double left = progress.tiles == 0
                          ? -1.0
                          : seconds * static_cast<double>(tiles - std::min(progress.tiles, tiles)) /
                                static_cast<double>(progress.tiles);
  std::string detail;
  if (progress.counts.tiles_reused > 0) {
    absl::StrAppend(&detail, ", ", progress.counts.tiles_reused, " there already");
  }
  const uint64_t bytes = progress.counts.bytes_sent;
  absl::StrAppend(&detail, ", ", ByteText(bytes), " sent");
  if (bytes > 0 && seconds > 0.0) {
    absl::StrAppend(&detail, ", ",
                    ByteText(static_cast<uint64_t>(static_cast<double>(bytes) / seconds)), "/s");
  }
  return ProgressText(label, "tiles" + detail, progress.tiles, tiles, left, bar);
}

absl::StatusOr<client::UploadResult> UploadWithBar(const ServerFlags& server,
                                                   const CommitFlags& flags, v1::BeginUpdate begin,
                                                   std::vector<client::UploadTile> tiles) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(server));
  client::UploadOptions options;
  options.transaction.timeout_s = server.timeout_s;
  options.transaction.begin = std::move(begin);
  flags.AddTo(&options.transaction.begin, &options.commit);
  options.reconnect.max_attempts = kMaxUploadAttempts;
  const std::string label = absl::StrCat("loading ", options.transaction.begin.map());
  const Clock::time_point start = Clock::now();
  LiveLine line(3.0, 0.1);
  options.progress = [&, all = tiles.size()](const client::UploadProgress& progress) {
    const bool last = progress.tiles >= all && line.terminal();
    const bool always = last || !progress.broken.ok();
    if (!always && !line.due()) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    line.Show(UploadText(label, all, progress, seconds, line.terminal()), always);
  };
  return client::UploadTiles(channel, std::move(tiles), options);
}

std::string UploadNotes(const client::UploadResult& result, bool staged,
                        uint64_t points_not_finite) {
  std::string text;
  const v1::UpdateCommitted& committed = result.committed;
  if (committed.repeated()) {
    absl::StrAppend(&text, "nothing has changed: the request ", result.request_id,
                    " was committed before\n");
    return text;
  }
  if (ChangesNothing(committed)) {
    absl::StrAppend(&text, "no tile has changed: the revision is the same as the one ",
                    staged ? "in use\n" : "before\n");
  }
  if (result.counts.tiles_reused > 0) {
    absl::StrAppend(&text, "the server had ", result.counts.tiles_reused, " of the tiles; ",
                    ByteText(result.bytes_sent), " were sent\n");
  }
  if (points_not_finite > 0) {
    absl::StrAppend(&text, Grouped(points_not_finite), " points were dropped: not finite\n");
  }
  if (staged) {
    absl::StrAppend(&text, "the revision is staged; voxloc map activate --map ",
                    committed.map().name(), " --revision ", committed.map().revision(),
                    " puts it in use\n");
  }
  return text;
}

Json UploadJson(const client::UploadResult& result) {
  const v1::UpdateCommitted& committed = result.committed;
  return {{"map", MapJson(committed.map())},
          {"request_id", result.request_id},
          {"repeated", committed.repeated()},
          {"changed", !committed.repeated() && !ChangesNothing(committed)},
          {"tiles_sent", result.counts.tiles_sent},
          {"tiles_reused", result.counts.tiles_reused},
          {"tiles_added", committed.tiles_added()},
          {"tiles_replaced", committed.tiles_replaced()},
          {"tiles_removed", committed.tiles_removed()},
          {"bytes_sent", result.bytes_sent},
          {"transactions", result.transactions},
          {"commit_s", committed.commit_s()},
          {"store_s", committed.store_s()}};
}

}  // namespace voxloc::cli
