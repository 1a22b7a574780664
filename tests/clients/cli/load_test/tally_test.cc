// SPDX-License-Identifier: Apache-2.0
//
// What becomes of scans, how it is counted and added up, judged and reported.

#include "clients/cli/load_test/tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "clients/cli/load_test/load_report.h"

namespace voxloc::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMs = 1'000'000;

// A ramp of 1 s, then 2 s.
LoadTiming OpenLoopTiming() {
  LoadTiming timing;
  timing.streams = 2;
  timing.rate_hz = 10.0;
  timing.ramp_s = 1.0;
  timing.steady_s = 2.0;
  return timing;
}

v1::AlignmentResult Reply(uint64_t sequence, v1::AlignmentStatus status = v1::ALIGNMENT_STATUS_OK) {
  v1::AlignmentResult result;
  result.set_sequence(sequence);
  result.set_status(status);
  v1::Timings* timings = result.mutable_timings();
  timings->set_queue_wait_s(0.001);
  timings->set_prepare_s(0.002);
  timings->set_align_s(0.003);
  timings->set_estimate_s(0.004);
  timings->set_server_s(0.010);
  timings->set_batch_size(5);
  result.set_accepted(status == v1::ALIGNMENT_STATUS_OK);
  return result;
}

class ScanLedgerTest : public ::testing::Test {
 protected:
  // Scans 1 to `scans` are due and sent at 1 s, the ramp's end.
  void EnterScans(uint64_t scans) {
    for (uint64_t i = 1; i <= scans; ++i) ledger_.Enter(i, 1000 * kMs, 1000 * kMs);
  }

  const LoadTiming timing_ = OpenLoopTiming();
  ScanLedger ledger_{timing_};
};

TEST_F(ScanLedgerTest, CountsEachScanOnceByWhatBecameOfIt) {
  for (uint64_t i = 1; i <= 6; ++i) {
    ledger_.Enter(i, 1000 * kMs, (i == 2 ? 1003 : 1000) * kMs);
  }
  EXPECT_EQ(ledger_.oldest()->sequence, 1u);
  EXPECT_TRUE(ledger_.Complete(Reply(2), 1020 * kMs));
  EXPECT_FALSE(ledger_.Complete(Reply(2), 1021 * kMs));
  EXPECT_TRUE(ledger_.Complete(Reply(1, v1::ALIGNMENT_STATUS_SUPERSEDED), 1001 * kMs));
  EXPECT_TRUE(ledger_.Complete(Reply(3, v1::ALIGNMENT_STATUS_LOW_SCORE), 3500 * kMs));
  ledger_.MarkUnsent(4);
  EXPECT_FALSE(ledger_.MarkLost(4));
  EXPECT_TRUE(ledger_.MarkLost(5));
  EXPECT_FALSE(ledger_.Complete(Reply(5), 1030 * kMs)) << "it was given up";
  ledger_.MarkSkipped(1100 * kMs);
  EXPECT_EQ(ledger_.oldest()->sequence, 6u);
  ledger_.MarkAllLost();
  EXPECT_FALSE(ledger_.oldest().has_value());

  const Tally tally = ledger_.tally();
  EXPECT_EQ(tally.sent, 5u);
  EXPECT_EQ(tally.unsent, 2u);
  EXPECT_EQ(tally.due(), 7u);
  EXPECT_EQ(tally.answered, 2u);
  EXPECT_EQ(tally.accepted, 1u);
  EXPECT_EQ(tally.superseded, 1u);
  EXPECT_EQ(tally.lost, 2u);
  EXPECT_EQ(tally.sent, tally.outcomes());
  EXPECT_EQ(tally.duplicated, 1u);
  EXPECT_EQ(tally.late_sends, 1u);
  EXPECT_EQ(tally.arrivals, 1u) << "one came after the end";
  EXPECT_EQ(tally.statuses.at(v1::ALIGNMENT_STATUS_SUPERSEDED), 1u);
  EXPECT_EQ(tally.statuses.at(v1::ALIGNMENT_STATUS_LOW_SCORE), 1u);
}

TEST_F(ScanLedgerTest, CountsThePausesBetweenAcceptedAnswers) {
  EnterScans(6);
  EXPECT_TRUE(ledger_.Complete(Reply(1), 900 * kMs)) << "in the ramp";
  EXPECT_TRUE(ledger_.Complete(Reply(2), 1100 * kMs));
  EXPECT_TRUE(ledger_.Complete(Reply(3), 1150 * kMs));
  EXPECT_TRUE(ledger_.Complete(Reply(4, v1::ALIGNMENT_STATUS_LOW_SCORE), 1200 * kMs));
  EXPECT_TRUE(ledger_.Complete(Reply(5), 1500 * kMs));
  EXPECT_TRUE(ledger_.Complete(Reply(6), 3500 * kMs)) << "after the end";
  const Tally tally = ledger_.tally();
  EXPECT_EQ(tally.pause.count(), 2u);
  EXPECT_EQ(tally.pause.Percentile(100.0), 350.0 * kMs);
}

// As sessions make it.
v1::AlignmentResult LocalOutcome(uint64_t sequence, v1::AlignmentStatus status) {
  v1::AlignmentResult result = Reply(sequence, status);
  result.clear_timings();
  return result;
}

TEST_F(ScanLedgerTest, CountsWhatTheSessionMakesItselfApartFromReplies) {
  EnterScans(5);
  ledger_.Enter(6, 900 * kMs, 900 * kMs);
  EXPECT_TRUE(ledger_.Complete(LocalOutcome(1, v1::ALIGNMENT_STATUS_STALE), 1700 * kMs));
  EXPECT_TRUE(ledger_.Complete(LocalOutcome(2, v1::ALIGNMENT_STATUS_SUPERSEDED), 1700 * kMs));
  EXPECT_TRUE(ledger_.Complete(LocalOutcome(3, v1::ALIGNMENT_STATUS_STALE), 1700 * kMs));
  EXPECT_TRUE(ledger_.Complete(Reply(4, v1::ALIGNMENT_STATUS_STALE), 1010 * kMs));
  EXPECT_TRUE(ledger_.Complete(Reply(5, v1::ALIGNMENT_STATUS_SUPERSEDED), 1010 * kMs));
  EXPECT_TRUE(ledger_.Complete(LocalOutcome(6, v1::ALIGNMENT_STATUS_STALE), 1010 * kMs));
  const Tally tally = ledger_.tally();
  EXPECT_EQ(tally.local_stale, 2u) << "the sixth was due in the ramp";
  EXPECT_EQ(tally.local_superseded, 1u);
  EXPECT_EQ(tally.answered, 1u);
  EXPECT_EQ(tally.superseded, 1u);
  EXPECT_EQ(tally.sent, tally.outcomes());
  EXPECT_EQ(tally.arrivals, 1u);
  EXPECT_EQ(ledger_.replies(), 1u);
  EXPECT_EQ(tally.latency.count(), 1u);
  EXPECT_EQ(tally.latency.Percentile(100.0), 10.0 * kMs) << "that of the server's reply";
  EXPECT_EQ(tally.statuses.at(v1::ALIGNMENT_STATUS_STALE), 1u);
  EXPECT_EQ(tally.statuses.at(v1::ALIGNMENT_STATUS_SUPERSEDED), 1u);
}

TEST_F(ScanLedgerTest, ALateReplyIsNoDuplicateButASecondResultIs) {
  EnterScans(2);
  EXPECT_TRUE(ledger_.MarkLost(1));
  EXPECT_FALSE(ledger_.Complete(Reply(1), 1500 * kMs));
  EXPECT_EQ(ledger_.tally().duplicated, 0u);
  EXPECT_FALSE(ledger_.Complete(Reply(1), 1500 * kMs));
  EXPECT_EQ(ledger_.tally().duplicated, 1u);
  EXPECT_TRUE(ledger_.Complete(LocalOutcome(2, v1::ALIGNMENT_STATUS_STALE), 1500 * kMs));
  EXPECT_FALSE(ledger_.Complete(Reply(2), 1500 * kMs));
  EXPECT_EQ(ledger_.tally().duplicated, 2u);
  EXPECT_FALSE(ledger_.Complete(Reply(7), 1500 * kMs)) << "it was never sent";
  EXPECT_EQ(ledger_.tally().duplicated, 3u);
  EXPECT_EQ(ledger_.tally().sent, ledger_.tally().outcomes());
}

TEST_F(ScanLedgerTest, CountsWhatIsCancelledWithItsSession) {
  EnterScans(4);
  ledger_.Enter(5, 900 * kMs, 900 * kMs);
  EXPECT_EQ(ledger_.last_wait_ns(), 0);
  EXPECT_TRUE(ledger_.Complete(Reply(1), 1030 * kMs));
  EXPECT_TRUE(ledger_.MarkLost(2));
  EXPECT_EQ(ledger_.last_wait_ns(), 30 * kMs);
  EXPECT_EQ(ledger_.CancelAll(), 3u);
  EXPECT_FALSE(ledger_.oldest().has_value());
  // The next session counts from 1.
  ledger_.Enter(2, 1500 * kMs, 1500 * kMs);
  EXPECT_TRUE(ledger_.Complete(Reply(2), 1510 * kMs));
  EXPECT_EQ(ledger_.CancelAll(), 0u);
  const Tally tally = ledger_.tally();
  EXPECT_EQ(tally.cancelled, 2u) << "one of three was due in the ramp";
  EXPECT_EQ(tally.sessions_cancelled, 1u) << "nothing was on its way the second time";
  EXPECT_EQ(tally.answered, 2u);
  EXPECT_EQ(tally.lost, 1u);
  EXPECT_EQ(tally.duplicated, 0u);
  EXPECT_EQ(tally.sent, tally.outcomes());
}

// A session that is closed between two connections completes its scans itself.
TEST_F(ScanLedgerTest, CountsAsCancelledWhatItsSessionGivesUpThen) {
  EnterScans(3);
  EXPECT_TRUE(ledger_.Complete(LocalOutcome(1, v1::ALIGNMENT_STATUS_STALE), 1010 * kMs));
  ledger_.BeginCancel();
  EXPECT_FALSE(ledger_.Complete(LocalOutcome(2, v1::ALIGNMENT_STATUS_STALE), 1020 * kMs));
  EXPECT_TRUE(ledger_.Complete(Reply(3), 1030 * kMs)) << "the reply was faster";
  EXPECT_EQ(ledger_.CancelAll(), 1u);
  ledger_.Enter(1, 1500 * kMs, 1500 * kMs);
  EXPECT_TRUE(ledger_.Complete(LocalOutcome(1, v1::ALIGNMENT_STATUS_STALE), 1510 * kMs));
  const Tally tally = ledger_.tally();
  EXPECT_EQ(tally.local_stale, 2u);
  EXPECT_EQ(tally.cancelled, 1u);
  EXPECT_EQ(tally.answered, 1u);
  EXPECT_EQ(tally.duplicated, 0u);
  EXPECT_EQ(tally.sent, tally.outcomes());
}

TEST_F(ScanLedgerTest, LeavesTheTimesOfASlowReaderOut) {
  ScanLedger ledger(timing_, false);
  ledger.Enter(1, 1000 * kMs, 1100 * kMs);
  EXPECT_TRUE(ledger.Complete(Reply(1), 1900 * kMs));
  const Tally tally = ledger.tally();
  EXPECT_EQ(tally.answered, 1u);
  EXPECT_EQ(tally.arrivals, 1u);
  EXPECT_EQ(tally.late_sends + tally.latency.count() + tally.lateness.count(), 0u);
  EXPECT_EQ(tally.server.count(), 0u);
}

TEST_F(ScanLedgerTest, LatencyCountsFromWhenTheScanWasDue) {
  ledger_.Enter(1, 1500 * kMs, 1530 * kMs);
  ASSERT_TRUE(ledger_.Complete(Reply(1), 1550 * kMs));
  const Tally tally = ledger_.tally();
  EXPECT_EQ(tally.latency.Percentile(50.0), 50.0 * kMs);
  EXPECT_EQ(tally.lateness.Percentile(50.0), 30.0 * kMs);
  EXPECT_EQ(tally.overhead.Percentile(50.0), 10.0 * kMs) << "20 ms less the server's 10";
  EXPECT_EQ(tally.server.Percentile(50.0), 10.0 * kMs);
  EXPECT_EQ(tally.queue_wait.Percentile(50.0), 1.0 * kMs);
  EXPECT_EQ(tally.prepare.Percentile(50.0), 2.0 * kMs);
  EXPECT_EQ(tally.align.Percentile(50.0), 3.0 * kMs);
  EXPECT_EQ(tally.estimate.Percentile(50.0), 4.0 * kMs);
  EXPECT_EQ(tally.batch_size.Percentile(50.0), 5.0);
}

TEST_F(ScanLedgerTest, LeavesTheRampOut) {
  ledger_.Enter(1, 999 * kMs, 999 * kMs);
  ledger_.Enter(2, 500 * kMs, 500 * kMs);
  ledger_.Enter(3, 600 * kMs, 600 * kMs);
  ledger_.MarkSkipped(700 * kMs);
  ledger_.MarkUnsent(3);
  EXPECT_TRUE(ledger_.Complete(Reply(1), 1001 * kMs));
  ledger_.MarkAllLost();
  const Tally tally = ledger_.tally();
  EXPECT_EQ(tally.due(), 0u);
  EXPECT_EQ(tally.answered + tally.lost, 0u);
  EXPECT_EQ(tally.latency.count(), 0u);
  EXPECT_EQ(tally.arrivals, 1u) << "the server worked on it in the steady part";
  EXPECT_EQ(ledger_.replies(), 1u);
}

Tally SomeTally(uint64_t base) {
  Tally tally;
  tally.sent = 10 * base;
  tally.unsent = base;
  tally.answered = 8 * base;
  tally.accepted = 7 * base;
  tally.superseded = base;
  tally.local_superseded = 4 * base;
  tally.local_stale = 5 * base;
  tally.cancelled = 6 * base;
  tally.sessions_cancelled = 3 * base;
  tally.lost = base;
  tally.arrivals = 8 * base;
  tally.duplicated = 2 * base;
  tally.poses_sent = 50 * base;
  tally.poses_rejected = 3 * base;
  tally.reconnects = base;
  tally.streams_ended = base;
  tally.late_sends = base;
  for (uint64_t i = 0; i < 8 * base; ++i) tally.latency.Add(static_cast<int64_t>(i) * kMs);
  for (uint64_t i = 0; i < 11 * base; ++i) tally.lateness.Add(0);
  tally.batch_size.Add(static_cast<int64_t>(base));
  tally.statuses[v1::ALIGNMENT_STATUS_OK] = 8 * base;
  tally.problems["gone"] = base;
  tally.cpu_s = 0.5 * static_cast<double>(base);
  return tally;
}

TEST(Tally, AddsUp) {
  Tally sum = SomeTally(1);
  sum.Merge(SomeTally(2));
  Tally expected = SomeTally(3);
  EXPECT_EQ(sum.latency.count(), 24u);
  EXPECT_EQ(sum.latency.Percentile(100.0), 15.0 * kMs);
  EXPECT_EQ(sum.lateness.count(), expected.lateness.count());
  EXPECT_EQ(sum.batch_size.count(), 2u);
  for (const auto count :
       {&Tally::sent, &Tally::unsent, &Tally::answered, &Tally::accepted, &Tally::superseded,
        &Tally::local_superseded, &Tally::local_stale, &Tally::cancelled,
        &Tally::sessions_cancelled, &Tally::lost, &Tally::arrivals, &Tally::duplicated,
        &Tally::poses_sent, &Tally::poses_rejected, &Tally::reconnects, &Tally::streams_ended,
        &Tally::late_sends}) {
    EXPECT_EQ(sum.*count, expected.*count);
  }
  EXPECT_EQ(sum.statuses, expected.statuses);
  EXPECT_EQ(sum.problems, expected.problems);
  EXPECT_EQ(sum.cpu_s, expected.cpu_s);
}

TEST(Tally, KeepsTheFirstKindsOfProblems) {
  Tally tally;
  for (int i = 0; i < 1000; ++i)
    AddProblem("problem " + std::to_string(i % 100), 1, &tally.problems);
  EXPECT_EQ(tally.problems.size(), 8u);
  EXPECT_EQ(tally.problems.at("problem 0"), 10u);
}

LoadResult Of(const Tally& tally) {
  LoadResult result;
  result.tally = tally;
  return result;
}

TEST(Objectives, AreMetOrMissed) {
  const Tally tally = SomeTally(10);  // latencies 0 to 79 ms; 80 of 110 answered
  EXPECT_TRUE(JudgeObjectives({}, Of(tally)).empty());
  const auto met = JudgeObjectives({80.0, 72.0, false}, Of(tally));
  ASSERT_EQ(met.size(), 2u);
  EXPECT_TRUE(met[0].met);
  EXPECT_NEAR(met[0].value, 79.0, 0.7);
  EXPECT_TRUE(met[1].met);
  EXPECT_NEAR(met[1].value, 100.0 * 80.0 / 110.0, 1e-9);
  const auto missed = JudgeObjectives({78.0, 73.0, false}, Of(tally));
  EXPECT_FALSE(missed[0].met);
  EXPECT_FALSE(missed[1].met);
  for (const ObjectiveResult& nothing : JudgeObjectives({1e9, 0.0, true}, LoadResult())) {
    EXPECT_FALSE(nothing.met) << nothing.name << " of nothing";
  }
}

// 100 quiet latencies of 10 ms, as many of `updating_ms` with updates, of which one a second is
// due.
LoadResult WithUpdates(int64_t updating_ms, uint64_t due, uint64_t committed) {
  LoadResult result;
  for (int i = 0; i < 100; ++i) {
    result.tally.quiet_latency.Add(10 * kMs);
    result.tally.updating_latency.Add(updating_ms * kMs);
  }
  result.tile_updates.emplace();
  result.tile_updates->due = due;
  result.tile_updates->committed = committed;
  return result;
}

TEST(Objectives, AnUpdateFactorNeedsTheUpdatesThatWereAskedFor) {
  Objectives objectives;
  objectives.max_update_factor = 1.5;
  const auto judge = [&objectives](const LoadResult& result) {
    const std::vector<ObjectiveResult> results = JudgeObjectives(objectives, result);
    EXPECT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].name, "max_update_factor");
    return results[0];
  };
  EXPECT_TRUE(judge(WithUpdates(14, 30, 30)).met);
  EXPECT_NEAR(judge(WithUpdates(14, 30, 30)).value, 1.4, 0.02);
  EXPECT_FALSE(judge(WithUpdates(16, 30, 30)).met);
  EXPECT_TRUE(judge(WithUpdates(14, 30, 29)).met) << "the last one may be under way at the end";
  EXPECT_FALSE(judge(WithUpdates(14, 30, 28)).met);
  EXPECT_TRUE(judge(WithUpdates(14, 600, 594)).met);
  EXPECT_FALSE(judge(WithUpdates(14, 600, 593)).met);
  EXPECT_FALSE(judge(WithUpdates(14, 1, 0)).met) << "none was made";
  EXPECT_FALSE(judge(LoadResult()).met) << "none was asked for";
}

TEST(LoadTiming, UpdatesAreDueInTheSecondHalf) {
  LoadTiming timing = OpenLoopTiming();
  timing.tile_updates_hz = 4.0;
  EXPECT_EQ(timing.updates_begin_ns(), 2000 * kMs);
  EXPECT_EQ(timing.updates_due(), 4u);
  EXPECT_EQ(timing.UpdateDue_ns(0), 2000 * kMs);
  EXPECT_EQ(timing.UpdateDue_ns(3), 2750 * kMs);
  timing.tile_updates_hz = 0.1;
  EXPECT_EQ(timing.updates_due(), 1u);
}

TEST_F(ScanLedgerTest, CountsLatenciesBeforeUpdatesOfTilesApart) {
  LoadTiming timing = OpenLoopTiming();
  timing.tile_updates_hz = 1.0;
  ScanLedger ledger(timing);
  const std::vector<int64_t> due_ms = {900, 1000, 1999, 2000, 2999, 3000};
  for (size_t i = 0; i < due_ms.size(); ++i) {
    ledger.Enter(i, due_ms[i] * kMs, due_ms[i] * kMs);
    EXPECT_TRUE(ledger.Complete(Reply(i), (due_ms[i] + 20) * kMs));
  }
  const Tally tally = ledger.tally();
  EXPECT_EQ(tally.quiet_latency.count(), 2u);
  EXPECT_EQ(tally.updating_latency.count(), 2u);
  EXPECT_EQ(tally.latency.count(), 4u);
  timing.tile_updates_hz = 0.0;
  ScanLedger without(timing);
  without.Enter(1, 1000 * kMs, 1000 * kMs);
  EXPECT_TRUE(without.Complete(Reply(1), 1020 * kMs));
  EXPECT_EQ(without.tally().latency.count(), 1u);
  EXPECT_EQ(without.tally().quiet_latency.count(), 0u);
}

TEST(Objectives, OneOutcomeAllowsNoLossNoDuplicateAndNoGap) {
  const Objectives objectives = {std::nullopt, std::nullopt, true};
  Tally tally;
  tally.sent = 10;
  tally.answered = 5;
  tally.superseded = tally.local_superseded = tally.local_stale = 1;
  tally.cancelled = 2;
  const auto wrong = [&objectives](const Tally& judged) {
    const std::vector<ObjectiveResult> results = JudgeObjectives(objectives, Of(judged));
    EXPECT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].name, "one_outcome");
    EXPECT_EQ(results[0].met, results[0].value == 0.0);
    return results[0].value;
  };
  EXPECT_EQ(wrong(tally), 0.0);
  tally.duplicated = 3;
  EXPECT_EQ(wrong(tally), 3.0);
  tally.duplicated = 0;
  tally.sent = 11;
  EXPECT_EQ(wrong(tally), 1.0) << "one has no outcome";
  tally.lost = 1;
  EXPECT_EQ(wrong(tally), 1.0);
  tally.answered = 6;
  EXPECT_EQ(wrong(tally), 2.0) << "one has two";
}

TEST(GeneratorLimit, IsReachedByLateSendsOrByTheProcessors) {
  LoadTiming timing = OpenLoopTiming();
  Tally tally;
  for (int i = 0; i < 1000; ++i) tally.lateness.Add(0);
  tally.late_sends = 10;
  tally.cpu_s = 7.0;  // of 2 s on 4 processors
  EXPECT_FALSE(JudgeGenerator(timing, tally, 4).limited);
  EXPECT_NEAR(JudgeGenerator(timing, tally, 4).processor_percent, 87.5, 1e-9);
  EXPECT_TRUE(JudgeGenerator(timing, tally, 3).limited);
  tally.late_sends = 11;
  EXPECT_TRUE(JudgeGenerator(timing, tally, 4).limited);
  timing.rate_hz = 0.0;  // a closed loop is never late
  EXPECT_FALSE(JudgeGenerator(timing, tally, 4).limited);
}

class LoadReportTest : public ::testing::Test {
 protected:
  LoadReportTest() {
    report_.server = "here:1";
    report_.maps = {"town", "yard"};
    report_.timing = OpenLoopTiming();
    report_.result.engine = "cpu";
    report_.result.profile = "precise";
    report_.result.scans = 4;
    report_.result.points = 6000;
    report_.result.tally = SomeTally(10);
    report_.generator = JudgeGenerator(report_.timing, report_.result.tally, 4);
    report_.objectives = JudgeObjectives({50.0, std::nullopt, false}, report_.result);
  }
  LoadReport report_;
};

TEST_F(LoadReportTest, JsonHasTheKeysThatScriptsRelyOn) {
  const Json json = Json::parse(LoadReportJson(report_).dump());
  for (const char* key :
       {"streams", "sent", "unsent", "answered", "accepted", "superseded", "local_stale",
        "local_superseded", "lost", "duplicated", "poses_sent", "poses_rejected", "reconnects"}) {
    ASSERT_TRUE(json.contains(key)) << key;
    EXPECT_TRUE(json[key].is_number_unsigned()) << key;
  }
  EXPECT_EQ(json["rate_per_s"], 40.0);  // 80 in 2 s
  EXPECT_TRUE(json["generator_limited"].is_boolean());
  EXPECT_EQ(json["statuses"]["OK"], 80);
  EXPECT_EQ(json["points_per_scan"], 1500.0);
  for (const char* key : {"latency_ms", "lateness_ms"}) {
    for (const char* statistic : {"mean", "p50", "p95", "p99", "max"}) {
      EXPECT_TRUE(json[key][statistic].is_number()) << key << "." << statistic;
    }
  }
  for (const char* key : {"overhead_ms", "server_ms", "queue_wait_ms", "prepare_ms", "align_ms",
                          "estimate_ms", "pause_ms"}) {
    EXPECT_TRUE(json[key]["p50"].is_null()) << key << ": there are no values";
  }
  EXPECT_EQ(json["batch_size"]["max"], 10.0);
  EXPECT_EQ(json["objectives"][0]["name"], "max_p99_ms");
  EXPECT_EQ(json["objectives"][0]["met"], false);
}

TEST_F(LoadReportTest, TextSaysWhatHappened) {
  const std::string text = LoadReportText(report_);
  EXPECT_THAT(text, HasSubstr("map town, yard"));
  EXPECT_THAT(text, HasSubstr("4 scans of 1,500 points on average\n"));
  EXPECT_THAT(text, HasSubstr("sent 100, answered 80 (72.7 % of what was due), accepted 70"));
  EXPECT_THAT(text, HasSubstr("by the client: cancelled 60 (60.0 %, with 30 sessions), stale 50, "
                              "superseded 40\n"));
  EXPECT_THAT(text, HasSubstr("status: OK 80"));
  EXPECT_THAT(text, HasSubstr("rate: 40.0 answers/s"));
  EXPECT_THAT(text, HasSubstr("objective max_p99_ms 50: "));
  EXPECT_THAT(text, HasSubstr("missed"));
  const std::string warnings = LoadWarningsText(report_);
  EXPECT_THAT(warnings, HasSubstr("the load generator was the limit"));
  EXPECT_THAT(warnings, HasSubstr("10 of 2 sessions ended"));
  EXPECT_THAT(warnings, HasSubstr("gone (10 times)"));
}

TEST_F(LoadReportTest, PassesWhereNothingIsAmiss) {
  EXPECT_FALSE(report_.passed());
  report_.objectives = JudgeObjectives({100.0, std::nullopt, false}, report_.result);
  EXPECT_FALSE(report_.passed()) << "sessions ended";
  report_.result.tally.streams_ended = 0;
  EXPECT_TRUE(report_.passed());
  report_.result.tally.answered = 0;
  EXPECT_FALSE(report_.passed());
}

TEST_F(LoadReportTest, UpdatesOfTilesAreReportedWhereTheyWereAskedFor) {
  EXPECT_FALSE(LoadReportJson(report_).contains("tile_updates"));
  EXPECT_THAT(LoadReportText(report_), Not(HasSubstr("updated")));
  report_.timing.tile_updates_hz = 5.0;
  const LoadResult updates = WithUpdates(20, 5, 3);
  report_.result.tile_updates = updates.tile_updates;
  report_.result.tally.Merge(updates.tally);
  report_.result.tile_updates->failed = 2;
  report_.result.tile_updates->update.Add(40 * kMs);
  report_.result.tile_updates->commit.Add(10 * kMs);
  report_.result.tile_updates->problems["refused"] = 2;
  const Json json = Json::parse(LoadReportJson(report_).dump());
  EXPECT_NEAR(json["quiet_latency_ms"]["p99"].get<double>(), 10.0, 0.1);
  EXPECT_NEAR(json["updating_latency_ms"]["p99"].get<double>(), 20.0, 0.2);
  const Json& updates_json = json["tile_updates"];
  EXPECT_EQ(updates_json["asked_hz"], 5.0);
  EXPECT_EQ(updates_json["rate_hz"], 3.0);  // in half of 2 s
  EXPECT_EQ(updates_json["count"], 3);
  EXPECT_EQ(updates_json["failed"], 2);
  EXPECT_EQ(updates_json["reached"], false);
  EXPECT_NEAR(updates_json["update_ms"]["p50"].get<double>(), 40.0, 0.4);
  EXPECT_NEAR(updates_json["commit_ms"]["p99"].get<double>(), 10.0, 0.1);
  EXPECT_THAT(LoadReportText(report_), HasSubstr("3 of 5 (3.00 of 5 a second), 2 failed"));
  EXPECT_THAT(LoadWarningsText(report_), HasSubstr("only 3.00 of 5 updates of tiles a second"));
  EXPECT_THAT(LoadWarningsText(report_), HasSubstr("refused (2 times)"));
}

TEST(LoadReport, OfNothingHasNoNumbers) {
  LoadReport report;
  report.timing = OpenLoopTiming();
  EXPECT_EQ(LoadWarningsText(report), "");
  EXPECT_THAT(LoadReportText(report), Not(HasSubstr("nan")));
  EXPECT_TRUE(Json::parse(LoadReportJson(report).dump())["latency_ms"]["p99"].is_null());
}

}  // namespace
}  // namespace voxloc::cli
