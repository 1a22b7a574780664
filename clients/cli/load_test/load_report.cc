// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/load_report.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cpp/messages.h"

namespace voxloc::cli {
namespace {

constexpr double kNanosecondsPerMillisecond = 1e6;

Summary InMilliseconds(const LogHistogram& times) {
  return times.Summarized(kNanosecondsPerMillisecond);
}

std::string PercentText(uint64_t part, uint64_t whole) {
  if (whole == 0) return "none";
  return absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string NameOfStatus(int status) {
  return client::StatusName(static_cast<v1::AlignmentStatus>(status));
}

std::string HeaderText(const LoadReport& report) {
  const LoadTiming& timing = report.timing;
  const LoadResult& result = report.result;
  std::string loop = "closed loop";
  if (timing.open_loop()) loop = absl::StrFormat("%g scans/s each", timing.rate_hz);
  if (timing.pose_rate_hz > 0.0) {
    absl::StrAppendFormat(&loop, " and %g poses/s", timing.pose_rate_hz);
  }
  std::string text = absl::StrFormat(
      "%s, map %s, profile %s, engine %s: %d stream%s, %s, %g s after a ramp of %g s\n",
      report.server, absl::StrJoin(report.maps, ", "), result.profile, result.engine,
      timing.streams, timing.streams == 1 ? "" : "s", loop, timing.steady_s, timing.ramp_s);
  absl::StrAppendFormat(&text, "%d scans of %s points on average\n", result.scans,
                        GroupDigits(result.points / std::max<uint64_t>(result.scans, 1)));
  const ClientFaults& faults = report.faults;
  if (faults.cancel_percent > 0.0) {
    absl::StrAppendFormat(&text, "%g %% of the scans cancelled\n", faults.cancel_percent);
  }
  if (faults.slow_readers > 0) {
    absl::StrAppendFormat(&text, "%d slow readers, %g s for each reply\n", faults.slow_readers,
                          faults.read_delay_s);
  }
  return text;
}

std::string CountsText(const LoadReport& report) {
  const Tally& tally = report.result.tally;
  std::string text = absl::StrFormat(
      "sent %s, answered %s (%s of what was due), accepted %s, superseded %s, lost %s, unsent %s, "
      "duplicated %s\n",
      GroupDigits(tally.sent), GroupDigits(tally.answered),
      PercentText(tally.answered, tally.due()), GroupDigits(tally.accepted),
      GroupDigits(tally.superseded), GroupDigits(tally.lost), GroupDigits(tally.unsent),
      GroupDigits(tally.duplicated));
  if (tally.cancelled + tally.local_stale + tally.local_superseded > 0) {
    absl::StrAppend(&text, "by the client: cancelled ", GroupDigits(tally.cancelled), " (",
                    PercentText(tally.cancelled, tally.sent), ", with ",
                    GroupDigits(tally.sessions_cancelled), " sessions), stale ",
                    GroupDigits(tally.local_stale), ", superseded ",
                    GroupDigits(tally.local_superseded), "\n");
  }
  if (!tally.statuses.empty()) {
    absl::StrAppend(&text, "status: ",
                    absl::StrJoin(tally.statuses, ", ",
                                  [](std::string* out, const std::pair<const int, uint64_t>& s) {
                                    absl::StrAppend(out, NameOfStatus(s.first), " ",
                                                    GroupDigits(s.second));
                                  }),
                    "\n");
  }
  if (report.timing.pose_rate_hz > 0.0) {
    absl::StrAppend(&text, "poses: ", GroupDigits(tally.poses_sent), " sent, ",
                    GroupDigits(tally.poses_rejected), " rejected\n");
  }
  return absl::StrCat(text, absl::StrFormat("rate: %.1f answers/s\n", report.rate_per_s()));
}

// Per second, in the part of the run that has updates.
double UpdateRate_hz(const LoadReport& report) {
  return static_cast<double>(report.result.tile_updates->committed) /
         (0.5 * report.timing.steady_s);
}

std::string UpdatesText(const LoadReport& report) {
  const TileUpdateCounts& updates = *report.result.tile_updates;
  const Summary update = InMilliseconds(updates.update);
  const Summary commit = InMilliseconds(updates.commit);
  return absl::StrFormat(
      "tiles updated in the second half: %s of %s (%.2f of %g a second), %s failed; p50 %.1f, p99 "
      "%.1f ms, of which the commit %.1f, %.1f ms\n",
      GroupDigits(updates.committed), GroupDigits(updates.due), UpdateRate_hz(report),
      report.timing.tile_updates_hz, GroupDigits(updates.failed), update.p50, update.p99,
      commit.p50, commit.p99);
}

std::string TimesText(const LoadReport& report) {
  const LoadResult& result = report.result;
  const Tally& tally = result.tally;
  SummaryTable table;
  table.AddRow("latency, ms", InMilliseconds(tally.latency), 3);
  if (result.tile_updates.has_value()) {
    table.AddRow("  before tiles are updated, ms", InMilliseconds(tally.quiet_latency), 3);
    table.AddRow("  while tiles are updated, ms", InMilliseconds(tally.updating_latency), 3);
  }
  if (report.timing.open_loop()) {
    table.AddRow("  sent after due, ms", InMilliseconds(tally.lateness), 3);
  }
  table.AddRow("  client and network, ms", InMilliseconds(tally.overhead), 3);
  table.AddRow("  server, ms", InMilliseconds(tally.server), 3);
  table.AddRow("    queue, ms", InMilliseconds(tally.queue_wait), 3);
  table.AddRow("    prepare, ms", InMilliseconds(tally.prepare), 3);
  table.AddRow("    align, ms", InMilliseconds(tally.align), 3);
  table.AddRow("    estimate, ms", InMilliseconds(tally.estimate), 3);
  table.AddRow("between accepted answers, ms", InMilliseconds(tally.pause), 1);
  table.AddRow("scans in a batch", tally.batch_size.Summarized(1.0), 1);
  return table.Text();
}

std::string GeneratorText(const LoadReport& report) {
  const GeneratorLimit& generator = report.generator;
  std::string text = absl::StrFormat("generator: %.0f %% of %d processors used",
                                     generator.processor_percent, generator.processors);
  if (report.timing.open_loop()) {
    absl::StrAppendFormat(&text, ", %.1f %% of the sends more than 1 ms late",
                          generator.late_percent);
  }
  return text + "\n";
}

}  // namespace

double LoadReport::rate_per_s() const {
  return static_cast<double>(result.tally.arrivals) / timing.steady_s;
}

bool LoadReport::passed() const {
  const bool met = std::all_of(objectives.begin(), objectives.end(),
                               [](const ObjectiveResult& objective) { return objective.met; });
  return met && result.tally.answered > 0 && result.tally.streams_ended == 0;
}

std::string LoadReportText(const LoadReport& report) {
  std::string text = absl::StrCat(HeaderText(report), CountsText(report), "\n", TimesText(report),
                                  "\n", GeneratorText(report));
  if (report.result.tile_updates.has_value()) text += UpdatesText(report);
  for (const ObjectiveResult& objective : report.objectives) {
    absl::StrAppendFormat(&text, "objective %s %g: %g, %s\n", objective.name, objective.limit,
                          objective.value, objective.met ? "met" : "missed");
  }
  return text;
}

std::string LoadWarningsText(const LoadReport& report) {
  const Tally& tally = report.result.tally;
  std::string text;
  if (report.generator.limited) {
    absl::StrAppend(&text,
                    "warning: the load generator was the limit, or competed with the server for "
                    "processors; start it on another machine, or with fewer streams\n");
  }
  if (const auto& updates = report.result.tile_updates; updates.has_value()) {
    if (!updates->reached()) {
      absl::StrAppendFormat(&text,
                            "warning: only %.2f of %g updates of tiles a second "
                            "were reached\n",
                            UpdateRate_hz(report), report.timing.tile_updates_hz);
    }
    for (const auto& [problem, count] : updates->problems) {
      absl::StrAppend(&text, "warning: ", problem, " (", count, " times)\n");
    }
  }
  if (tally.streams_ended > 0) {
    absl::StrAppend(&text, "warning: ", tally.streams_ended, " of ", report.timing.streams,
                    " sessions ended before the test did\n");
  }
  if (tally.reconnects > 0) {
    absl::StrAppend(&text, "warning: sessions were opened again ", tally.reconnects, " times\n");
  }
  for (const auto& [problem, count] : tally.problems) {
    absl::StrAppend(&text, "warning: ", problem, " (", count, " times)\n");
  }
  return text;
}

Json LoadReportJson(const LoadReport& report) {
  const LoadTiming& timing = report.timing;
  const LoadResult& result = report.result;
  const Tally& tally = result.tally;
  Json statuses = Json::object();
  for (const auto& [status, count] : tally.statuses) statuses[NameOfStatus(status)] = count;
  Json objectives = Json::array();
  for (const ObjectiveResult& objective : report.objectives) {
    objectives.push_back({{"name", objective.name},
                          {"limit", objective.limit},
                          {"value", objective.value},
                          {"met", objective.met}});
  }
  const auto times = [](const LogHistogram& histogram) {
    return SummaryJson(InMilliseconds(histogram));
  };
  Json json = {{"server", report.server},
               {"server_version", result.server_version},
               {"maps", report.maps},
               {"profile", result.profile},
               {"engine", result.engine},
               {"streams", timing.streams},
               {"rate_hz", timing.rate_hz},
               {"pose_rate_hz", timing.pose_rate_hz},
               {"ramp_s", timing.ramp_s},
               {"steady_s", timing.steady_s},
               {"cancel_percent", report.faults.cancel_percent},
               {"slow_readers", report.faults.slow_readers},
               {"read_delay_s", report.faults.read_delay_s},
               {"scans", result.scans},
               {"points_per_scan", static_cast<double>(result.points) /
                                       static_cast<double>(std::max<uint64_t>(result.scans, 1))},
               {"sent", tally.sent},
               {"unsent", tally.unsent},
               {"answered", tally.answered},
               {"accepted", tally.accepted},
               {"superseded", tally.superseded},
               {"local_stale", tally.local_stale},
               {"local_superseded", tally.local_superseded},
               {"cancelled", tally.cancelled},
               {"lost", tally.lost},
               {"duplicated", tally.duplicated},
               {"statuses", statuses},
               {"poses_sent", tally.poses_sent},
               {"poses_rejected", tally.poses_rejected},
               {"reconnects", tally.reconnects},
               {"sessions_cancelled", tally.sessions_cancelled},
               {"streams_ended", tally.streams_ended},
               {"problems", tally.problems},
               {"rate_per_s", report.rate_per_s()},
               {"latency_ms", times(tally.latency)},
               {"lateness_ms", times(tally.lateness)},
               {"overhead_ms", times(tally.overhead)},
               {"server_ms", times(tally.server)},
               {"queue_wait_ms", times(tally.queue_wait)},
               {"prepare_ms", times(tally.prepare)},
               {"align_ms", times(tally.align)},
               {"estimate_ms", times(tally.estimate)},
               {"pause_ms", times(tally.pause)},
               {"batch_size", SummaryJson(tally.batch_size.Summarized(1.0))},
               {"generator_limited", report.generator.limited},
               {"generator",
                {{"late_percent", report.generator.late_percent},
                 {"processor_percent", report.generator.processor_percent},
                 {"processors", report.generator.processors}}},
               {"objectives", objectives}};
  if (result.tile_updates.has_value()) {
    const TileUpdateCounts& updates = *result.tile_updates;
    json["quiet_latency_ms"] = times(tally.quiet_latency);
    json["updating_latency_ms"] = times(tally.updating_latency);
    json["tile_updates"] = {{"asked_hz", timing.tile_updates_hz},
                            {"rate_hz", UpdateRate_hz(report)},
                            {"due", updates.due},
                            {"count", updates.committed},
                            {"failed", updates.failed},
                            {"reached", updates.reached()},
                            {"problems", updates.problems},
                            {"update_ms", times(updates.update)},
                            {"commit_ms", times(updates.commit)}};
  }
  return json;
}

GeneratorLimit JudgeGenerator(const LoadTiming& timing, const Tally& tally, size_t processors) {
  GeneratorLimit limit;
  limit.processors = processors;
  const uint64_t sends = tally.lateness.count();
  if (timing.open_loop() && sends > 0) {
    limit.late_percent = 100.0 * static_cast<double>(tally.late_sends) / static_cast<double>(sends);
  }
  limit.processor_percent =
      100.0 * tally.cpu_s / (timing.steady_s * static_cast<double>(processors));
  limit.limited =
      limit.late_percent > kMaxLatePercent || limit.processor_percent > kMaxProcessorPercent;
  return limit;
}

std::vector<ObjectiveResult> JudgeObjectives(const Objectives& objectives,
                                             const LoadResult& result) {
  const Tally& tally = result.tally;
  std::vector<ObjectiveResult> results;
  if (objectives.max_p99_ms.has_value()) {
    const double p99_ms = 1e-6 * tally.latency.Percentile(99.0);
    results.push_back(
        {"max_p99_ms", *objectives.max_p99_ms, p99_ms, p99_ms <= *objectives.max_p99_ms});
  }
  if (objectives.min_answered_percent.has_value()) {
    // NaN where nothing was due.
    const double percent =
        100.0 * static_cast<double>(tally.answered) / static_cast<double>(tally.due());
    results.push_back({"min_answered_percent", *objectives.min_answered_percent, percent,
                       percent >= *objectives.min_answered_percent});
  }
  if (objectives.max_update_factor.has_value()) {
    const double factor =
        tally.updating_latency.Percentile(99.0) / tally.quiet_latency.Percentile(99.0);
    const bool reached = result.tile_updates.has_value() && result.tile_updates->reached();
    results.push_back({"max_update_factor", *objectives.max_update_factor, factor,
                       reached && factor <= *objectives.max_update_factor});
  }
  if (objectives.one_outcome) {
    // NaN if nothing was sent. Scans without an outcome or with two would be an error of the
    // counts.
    const uint64_t unbalanced = tally.sent > tally.outcomes() ? tally.sent - tally.outcomes()
                                                              : tally.outcomes() - tally.sent;
    const double wrong = tally.sent == 0
                             ? std::numeric_limits<double>::quiet_NaN()
                             : static_cast<double>(tally.lost + tally.duplicated + unbalanced);
    results.push_back({"one_outcome", 0.0, wrong, wrong == 0.0});
  }
  return results;
}

}  // namespace voxloc::cli
