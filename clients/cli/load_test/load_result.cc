// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/load_test/load_result.h"

#include <utility>

namespace voxloc::cli {

Json LoadResult::ToJson() const {
  return {{"engine", engine},
          {"profile", profile},
          {"server_version", server_version},
          {"scans", scans},
          {"points", points},
          {"steady_s", steady_s},
          {"interrupted", interrupted},
          {"tally", tally.ToJson()}};
}

absl::StatusOr<LoadResult> LoadResult::FromJson(const Json& json) {
  LoadResult result;
  try {
    result.engine = json.at("engine");
    result.profile = json.at("profile");
    result.server_version = json.at("server_version");
    result.scans = json.at("scans");
    result.points = json.at("points");
    result.steady_s = json.at("steady_s");
    result.interrupted = json.at("interrupted");
    absl::StatusOr<Tally> tally = Tally::FromJson(json.at("tally"));
    if (!tally.ok()) return tally.status();
    result.tally = *std::move(tally);
  } catch (const Json::exception&) {
    return absl::InternalError("the result of a load test is malformed");
  }
  return result;
}

}  // namespace voxloc::cli
