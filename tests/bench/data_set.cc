// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/data_set.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace voxloc::bench {
namespace {

absl::StatusOr<DataSet> ParseSet(const std::string& text) {
  DataSet set;
  CLI::App app("a data set");
  app.set_help_flag();
  app.add_option("NAME", set.name)->required();
  AddMapFlags(app, set.map);
  AddScanFlags(app, set.scans);
  RequireMapAndScans(app);
  try {
    app.parse(text);
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(absl::StrCat("--set '", text, "': ", error.what()));
  }
  return set;
}

}  // namespace

void AddSetFlag(CLI::App& app, std::vector<std::string>& sets) {
  app.add_option("--set", sets,
                 "A data set: \"NAME --map PATH --scans DIR --poses FILE ...\", with the flags of "
                 "`align` for maps, scans and start poses; may be repeated")
      ->required();
}

absl::StatusOr<std::vector<DataSet>> ParseSets(const std::vector<std::string>& sets) {
  std::vector<DataSet> parsed;
  for (const std::string& text : sets) {
    auto set = ParseSet(text);
    if (!set.ok()) return set.status();
    parsed.push_back(*std::move(set));
  }
  return parsed;
}

absl::StatusOr<LoadedSet> LoadSet(Engine& engine, const DataSet& set,
                                  const std::vector<Profile>& profiles, size_t stride) {
  const auto clouds = LoadMapClouds(set.map);
  if (!clouds.ok()) return clouds.status();
  const auto map = BuildMap(engine, *clouds, RequiredStatistics(profiles));
  if (!map.ok()) return map.status();
  auto scans = LoadScans(set.scans);
  if (!scans.ok()) return scans.status();
  LoadedSet loaded = {set.name, map->resident, {}};
  for (size_t i = 0; i < scans->size(); i += stride) {
    loaded.scans.push_back(std::move((*scans)[i]));
  }
  return loaded;
}

std::vector<AlignJob> AlignJobs(const std::shared_ptr<const ResidentMap>& map,
                                absl::Span<const BenchScan> scans, const Profile& profile) {
  std::vector<AlignJob> jobs;
  for (const BenchScan& scan : scans) {
    AlignJob& job = jobs.emplace_back();
    job.map = map;
    job.scan = scan.cloud;
    job.map_T_base_guess = scan.map_T_base_guess;
    job.profile = profile;
    job.work_class = WorkClass::kTracking;
  }
  return jobs;
}

}  // namespace voxloc::bench
