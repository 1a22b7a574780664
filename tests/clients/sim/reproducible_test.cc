// SPDX-License-Identifier: Apache-2.0
//
// The towns of docs/accuracy.md stay the same bit for bit: checksums of data sets that an earlier
// version wrote.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "clients/sim/simulation.h"
#include "core/checksum/crc32c.h"

namespace voxloc::sim {
namespace {

namespace fs = std::filesystem;

// Of the contents of all files but the record, in the order of their paths.
uint32_t ChecksumOf(const fs::path& directory) {
  std::map<std::string, fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().filename() != "simulation.json") {
      files[fs::relative(entry.path(), directory).string()] = entry.path();
    }
  }
  uint32_t crc = 0;
  for (const auto& [name, path] : files) {
    std::ifstream in(path, std::ios::binary);
    crc = ExtendCrc32c(crc, std::string(std::istreambuf_iterator<char>(in), {}));
  }
  return crc;
}

TEST(ReproducibleTest, ATownIsTheOneThatEarlierVersionsWrote) {
#if !defined(__x86_64__) || defined(__FMA__)
  GTEST_SKIP() << "the checksum is that of x86-64 without contracted multiplications";
#endif
  // voxloc simulate --seed 5 --size 100 --scans 12 --rings 8 --steps 90 --rate 2 --map-spacing 0.5
  //   --traffic-cars 30 --traffic-people 100
  SimulationOptions options;
  options.town.seed = options.map.seed = 5;
  options.drive.seed = options.lidar.seed = options.traffic.seed = 5;
  options.town.size_m = 100.0;
  options.drive.scans = 12;
  options.drive.rate_hz = 2.0;
  options.lidar.rings = 8;
  options.lidar.azimuth_steps = 90;
  options.map.spacing_m = 0.5;
  options.traffic.cars_per_km = 30.0;
  options.traffic.pedestrians_per_km = 100.0;
  const fs::path out = fs::path(testing::TempDir()) / "reproducible_test_out";
  fs::remove_all(out);
  ASSERT_TRUE(WriteSimulation(options, {out.string()}).ok());
  EXPECT_EQ(ChecksumOf(out), 0x4b50c9a6U);
  fs::remove_all(out);
}

}  // namespace
}  // namespace voxloc::sim
