// SPDX-License-Identifier: Apache-2.0

#include "server/config/capture_settings.h"

#include "server/config/setting_kinds.h"

namespace voxloc::server {

using setting_kinds::BytesOrZero;
using setting_kinds::Choices;
using setting_kinds::Number;
using setting_kinds::Text;

void AppendCaptureSettings(std::vector<Setting>& table) {
  table.push_back(BytesOrZero(
      "capture.max_bytes", 1 << 20, uint64_t{1} << 48U,
      "keep scans that went badly, with their answers, in files of so many bytes together; the "
      "oldest make room for new ones; 0: none are kept",
      [](auto& c) -> auto& { return c.capture.max_bytes; }));
  table.push_back(Text(
      "capture.directory", "DIR",
      "keep them in this folder, which is created where its parent exists; empty: captures in "
      "data_dir",
      [](auto& c) -> auto& { return c.capture.directory; }));
  table.push_back(Number(
      "capture.max_age_s", 60.0, 1e9, "delete captures that are older, seconds",
      [](auto& c) -> auto& { return c.capture.max_age_s; }));
  table.push_back(Number(
      "capture.max_per_second", 0.001, 1000.0,
      "capture at most so many scans per second, over all sessions",
      [](auto& c) -> auto& { return c.capture.max_per_second; }));
  // Not OK, and not those that say nothing of the scan itself: NOT_ACTIVE, STALE, SUPERSEDED and
  // OVERLOADED.
  table.push_back(Choices(
      "capture.statuses",
      {"LOW_SCORE", "NOT_CONVERGED", "DEGENERATE", "AMBIGUOUS", "LOW_OVERLAP", "OUT_OF_MAP",
       "NO_MAP", "NO_PRIOR", "DEADLINE", "INVALID_INPUT", "LOW_CONFIDENCE", "ENGINE_FAULT"},
      "capture scans that are answered with one of these statuses",
      [](auto& c) -> auto& { return c.capture.statuses; }));
}

}  // namespace voxloc::server
