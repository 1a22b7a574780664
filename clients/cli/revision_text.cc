// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/revision_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "clients/cli/message_json.h"
#include "clients/cli/text_table.h"

namespace voxloc::cli {
namespace {

// Of the tiles that an event names; the rest is counted.
constexpr int kTilesShown = 5;

std::string TilesText(const v1::WatchMapResponse& event) {
  if (event.tiles_omitted()) return ", many tiles changed";
  if (event.changed_tiles().empty()) return "";
  std::string text = ", tiles changed: ";
  const int shown = std::min(kTilesShown, event.changed_tiles_size());
  for (int i = 0; i < shown; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", event.changed_tiles(i));
  }
  const int more = event.changed_tiles_size() - shown;
  if (more > 0) absl::StrAppend(&text, " and ", more, " more");
  return text;
}

}  // namespace

std::string RevisionStateText(const v1::MapRevision& revision) {
  const std::string state = EnumWordOf(revision.state());
  const int vehicles = revision.canary_vehicles_size();
  if (vehicles == 0) return state;
  return absl::StrCat(state, ", tried by ", vehicles, vehicles == 1 ? " vehicle" : " vehicles");
}

std::string RevisionTableText(const std::vector<v1::MapRevision>& revisions) {
  TextTable table(">revision|>from|state|committed|>tiles|>points|>+|>~|>-|comment");
  for (const v1::MapRevision& revision : revisions) {
    table.AddRow({absl::StrCat(revision.revision()),
                  revision.parent() == 0 ? "-" : absl::StrCat(revision.parent()),
                  RevisionStateText(revision), TimeText(revision.committed_at_ns()),
                  Grouped(revision.tiles()), Grouped(revision.points()),
                  absl::StrCat(revision.tiles_added()), absl::StrCat(revision.tiles_replaced()),
                  absl::StrCat(revision.tiles_removed()), revision.comment()});
  }
  return table.Text();
}

absl::StatusOr<uint64_t> PreviousRevision(const std::string& map,
                                          const std::vector<v1::MapRevision>& revisions) {
  const v1::MapRevision* active = nullptr;
  for (const v1::MapRevision& revision : revisions) {
    if (revision.state() == v1::REVISION_STATE_ACTIVE) active = &revision;
  }
  const uint64_t previous = active == nullptr ? 0 : active->parent();
  if (previous == 0) {
    return absl::NotFoundError(absl::StrCat("map ", map, " had no revision in use before"));
  }
  for (const v1::MapRevision& revision : revisions) {
    if (revision.revision() == previous) return previous;
  }
  return absl::NotFoundError(absl::StrCat("revision ", previous, " of map ", map,
                                          ", which was in use before, is no longer kept"));
}

std::string MapEventText(const v1::WatchMapResponse& event, int64_t now_ns) {
  return absl::StrCat(TimeText(now_ns), "  ", event.map().name(), " ", EnumWordOf(event.kind()),
                      ", revision ", event.map().revision(), TilesText(event), "\n");
}

}  // namespace voxloc::cli
