// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/compared_run.h"

#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "clients/cli/report/report.h"

namespace voxloc::cli {
namespace {

// About 400,000 rows; more than a report shows.
constexpr uintmax_t kMaxRunBytes = uintmax_t{1} << 30;

bool IsNumberOrNull(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && (found->is_number() || found->is_null());
}

bool IsPose(const Json& row, const char* key, bool may_be_null) {
  const auto found = row.find(key);
  if (found == row.end()) return false;
  if (found->is_null()) return may_be_null;
  if (!found->is_array() || found->size() != 7) return false;
  for (const Json& number : *found) {
    if (!number.is_number()) return false;
  }
  return true;
}

bool IsRow(const Json& row) {
  if (!row.is_object()) return false;
  const auto has = [&row](const char* key, bool (Json::*is)() const noexcept) {
    const auto found = row.find(key);
    return found != row.end() && ((*found).*is)();
  };
  const auto scores = row.find("scores");
  return has("stamp_ns", &Json::is_number_integer) && has("file", &Json::is_string) &&
         has("status", &Json::is_string) && has("accepted", &Json::is_boolean) &&
         has("answered", &Json::is_boolean) && IsPose(row, "pose", true) &&
         IsPose(row, "truth", false) && IsNumberOrNull(row, "translation_error_m") &&
         IsNumberOrNull(row, "rotation_error_deg") && IsNumberOrNull(row, "latency_ms") &&
         scores != row.end() && scores->is_object() && IsNumberOrNull(*scores, "nvtl");
}

std::string TextOf(const Json& run, const char* key) {
  const auto found = run.find(key);
  return found != run.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

absl::StatusOr<Json> ReadRun(const std::string& path) {
  std::error_code problem;
  const uintmax_t bytes = std::filesystem::file_size(path, problem);
  if (problem) return absl::NotFoundError(absl::StrCat(path, ": ", problem.message()));
  if (bytes > kMaxRunBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " must have at most ", kMaxRunBytes, " bytes (got ", bytes, ")"));
  }
  std::ifstream file(path, std::ios::binary);
  Json run = Json::parse(file, nullptr, false);
  if (!run.is_object() || !run.contains("results") || !run["results"].is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " must be the JSON of voxloc replay --json"));
  }
  for (size_t i = 0; i < run["results"].size(); ++i) {
    if (!IsRow(run["results"][i])) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": row ", i, " of results is not one of voxloc replay --json"));
    }
  }
  return run;
}

absl::StatusOr<Json> CompareRuns(const Json& replay, const Json& other, const std::string& name) {
  std::map<int64_t, std::deque<const Json*>> by_stamp;
  for (const Json& row : other["results"]) {
    by_stamp[row["stamp_ns"].get<int64_t>()].push_back(&row);
  }
  Json results = Json::array();
  size_t matched = 0;
  for (const Json& row : replay["results"]) {
    const auto found = by_stamp.find(row["stamp_ns"].get<int64_t>());
    if (found == by_stamp.end() || found->second.empty()) {
      results.push_back(nullptr);
      continue;
    }
    results.push_back(ReportRow(*found->second.front()));
    found->second.pop_front();
    ++matched;
  }
  if (matched == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a run over the same scans (not one of its ",
                     other["results"].size(), " stamps is in this one)"));
  }
  Json compared = {{"name", name},
                   {"unmatched", other["results"].size() - matched},
                   {"results", std::move(results)}};
  for (const char* key : {"map", "profile", "engine", "guess", "server_version"}) {
    compared[key] = TextOf(other, key);
  }
  return compared;
}

}  // namespace voxloc::cli
