// SPDX-License-Identifier: Apache-2.0
//
// The lists of data sets in tests/bench/scenes: every line parses, and what is for judging is not
// for choosing.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "clients/sim/simulate_command.h"
#include "tests/support/simulated.h"

namespace voxloc::sim {
namespace {

struct DataSet {
  std::string name;
  SimulateArguments arguments;
  SimulationOptions options;
};

std::vector<DataSet> ReadList(const std::string& name) {
  std::ifstream file(std::string(VOXLOC_SOURCE_DIR) + "/tests/bench/scenes/" + name + ".txt");
  EXPECT_TRUE(file.is_open()) << name;
  std::vector<DataSet> sets;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream text(line);
    DataSet& set = sets.emplace_back();
    text >> set.name;
    std::vector<std::string> words = {"simulate"};
    for (std::string word; text >> word;) words.push_back(word);
    words.emplace_back("out");
    std::reverse(words.begin(), words.end());
    CLI::App program("voxloc");
    AddSimulateCommand(program, set.arguments);
    EXPECT_NO_THROW(program.parse(words)) << line;
    const absl::StatusOr<SimulationOptions> options = MakeSimulationOptions(set.arguments);
    EXPECT_TRUE(options.ok()) << line << ": " << options.status();
    if (options.ok()) set.options = *options;
  }
  return sets;
}

std::set<uint64_t> SeedsOf(const std::vector<DataSet>& sets) {
  std::set<uint64_t> seeds;
  for (const DataSet& set : sets) {
    seeds.insert(set.arguments.seed);
    seeds.insert(set.options.drive.seed);
  }
  return seeds;
}

TEST(SceneListsTest, JudgingSharesNoSeedWithChoosingOrOlderMeasurements) {
  const std::set<uint64_t> choosing = SeedsOf(ReadList("choosing"));
  std::set<uint64_t> used = {21, 31, 41, 51, 52, 53, 61, 62, 63, 64};
  for (uint64_t seed = 1; seed <= 13; ++seed) used.insert(seed);
  for (const uint64_t seed : SeedsOf(ReadList("judging"))) {
    EXPECT_EQ(choosing.count(seed), 0U) << seed;
    EXPECT_EQ(used.count(seed), 0U) << seed;
  }
}

TEST(SceneListsTest, EachListHasItsScenesAndEverySensorUnderNamesOfTheirOwn) {
  for (const char* list : {"choosing", "judging"}) {
    std::set<std::string> names;
    std::set<std::string> scenes;
    std::set<std::string> sensors;
    const std::vector<DataSet> sets = ReadList(list);
    for (const DataSet& set : sets) {
      names.insert(set.name);
      scenes.insert(set.arguments.scene);
      sensors.insert(set.arguments.sensor.value_or("default"));
    }
    EXPECT_EQ(names.size(), sets.size()) << list;
    EXPECT_EQ(scenes.size(), 10U) << list;
    EXPECT_EQ(sensors.size(), 6U) << list;
  }
}

TEST(SceneListsTest, EveryDriveFitsIntoItsScene) {
  for (const char* list : {"choosing", "judging"}) {
    for (const DataSet& set : ReadList(list)) {
      if (set.options.scene == SceneKind::kTown) continue;  // has no end
      const absl::StatusOr<World> world = BuildWorld(set.options);
      ASSERT_TRUE(world.ok()) << set.name << ": " << world.status();
      DriveOptions drive = set.options.drive;
      drive.tail_s = set.options.scan_duration_s;
      EXPECT_TRUE(PlanDrive(*world, drive).ok()) << set.name;
    }
  }
}

}  // namespace
}  // namespace voxloc::sim
