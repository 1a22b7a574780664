// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/tally.h"

#include <array>
#include <utility>

namespace voxloc::cli {
namespace {

// Kinds of problems that are kept: enough for a report.
constexpr size_t kMaxProblems = 8;

constexpr std::array<std::pair<const char*, uint64_t Tally::*>, 17> kTallyCounts = {{
    {"sent", &Tally::sent},
    {"unsent", &Tally::unsent},
    {"answered", &Tally::answered},
    {"superseded", &Tally::superseded},
    {"local_superseded", &Tally::local_superseded},
    {"local_stale", &Tally::local_stale},
    {"cancelled", &Tally::cancelled},
    {"lost", &Tally::lost},
    {"accepted", &Tally::accepted},
    {"late_sends", &Tally::late_sends},
    {"arrivals", &Tally::arrivals},
    {"duplicated", &Tally::duplicated},
    {"poses_sent", &Tally::poses_sent},
    {"poses_rejected", &Tally::poses_rejected},
    {"reconnects", &Tally::reconnects},
    {"sessions_cancelled", &Tally::sessions_cancelled},
    {"streams_ended", &Tally::streams_ended},
}};

constexpr std::array<std::pair<const char*, LogHistogram Tally::*>, 12> kTallyHistograms = {{
    {"latency", &Tally::latency},
    {"quiet_latency", &Tally::quiet_latency},
    {"updating_latency", &Tally::updating_latency},
    {"lateness", &Tally::lateness},
    {"overhead", &Tally::overhead},
    {"server", &Tally::server},
    {"queue_wait", &Tally::queue_wait},
    {"prepare", &Tally::prepare},
    {"align", &Tally::align},
    {"estimate", &Tally::estimate},
    {"batch_size", &Tally::batch_size},
    {"pause", &Tally::pause},
}};

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
  for (const auto& [name, member] : kTallyCounts) this->*member += other.*member;
  for (const auto& [name, member] : kTallyHistograms) (this->*member).Merge(other.*member);
  for (const auto& [status, count] : other.statuses) statuses[status] += count;
  for (const auto& [problem, count] : other.problems) AddProblem(problem, count);
  cpu_s += other.cpu_s;
}

Json Tally::ToJson() const {
  Json json = Json::object();
  for (const auto& [name, member] : kTallyCounts) json[name] = this->*member;
  for (const auto& [name, member] : kTallyHistograms) json[name] = (this->*member).ToJson();
  json["statuses"] = statuses;
  json["problems"] = problems;
  json["cpu_s"] = cpu_s;
  return json;
}

absl::StatusOr<Tally> Tally::FromJson(const Json& json) {
  Tally tally;
  try {
    for (const auto& [name, member] : kTallyCounts) tally.*member = json.at(name).get<uint64_t>();
    for (const auto& [name, member] : kTallyHistograms) {
      absl::StatusOr<LogHistogram> histogram = LogHistogram::FromJson(json.at(name));
      if (!histogram.ok()) return histogram.status();
      tally.*member = *std::move(histogram);
    }
    json.at("statuses").get_to(tally.statuses);
    json.at("problems").get_to(tally.problems);
    tally.cpu_s = json.at("cpu_s");
  } catch (const Json::exception&) {
    return absl::InternalError("a tally is malformed");
  }
  return tally;
}

}  // namespace voxloc::cli
