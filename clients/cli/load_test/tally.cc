// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/tally.h"

#include <array>

namespace voxloc::cli {
namespace {

// Kinds of problems that are kept: enough for a report.
constexpr size_t kMaxProblems = 8;

constexpr std::array<uint64_t Tally::*, 17> kTallyCounts = {&Tally::sent,
                                                            &Tally::unsent,
                                                            &Tally::answered,
                                                            &Tally::superseded,
                                                            &Tally::local_superseded,
                                                            &Tally::local_stale,
                                                            &Tally::cancelled,
                                                            &Tally::lost,
                                                            &Tally::accepted,
                                                            &Tally::late_sends,
                                                            &Tally::arrivals,
                                                            &Tally::duplicated,
                                                            &Tally::poses_sent,
                                                            &Tally::poses_rejected,
                                                            &Tally::reconnects,
                                                            &Tally::sessions_cancelled,
                                                            &Tally::streams_ended};

constexpr std::array<LogHistogram Tally::*, 12> kTallyHistograms = {
    &Tally::latency,  &Tally::quiet_latency, &Tally::updating_latency, &Tally::lateness,
    &Tally::overhead, &Tally::server,        &Tally::queue_wait,       &Tally::prepare,
    &Tally::align,    &Tally::estimate,      &Tally::batch_size,       &Tally::pause};

}  // namespace

void AddProblem(const std::string& problem, uint64_t count,
                std::map<std::string, uint64_t>* problems) {
  const auto known = problems->find(problem);
  if (known != problems->end()) {
    known->second += count;
  } else if (problems->size() < kMaxProblems) {
    problems->emplace(problem, count);
  }
}

void Tally::AddProblem(const std::string& problem, uint64_t count) {
  cli::AddProblem(problem, count, &problems);
}

void Tally::Merge(const Tally& other) {
  for (const auto member : kTallyCounts) this->*member += other.*member;
  for (const auto member : kTallyHistograms) (this->*member).Merge(other.*member);
  for (const auto& [status, count] : other.statuses) statuses[status] += count;
  for (const auto& [problem, count] : other.problems) AddProblem(problem, count);
  cpu_s += other.cpu_s;
}

}  // namespace voxloc::cli
