// SPDX-License-Identifier: Apache-2.0
//
// voxloc replay whose map goes away while it drives.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/child_process.h"
#include "tests/e2e/program_path.h"
#include "tests/e2e/served_town.h"
#include "tests/server/gated_engine.h"
#include "tests/server/test_server.h"
#include "tests/support/gate.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

// The first scan waits at the gate until the map has gone, and is aligned in what it holds of it.
TEST(ReplayWithoutMap, IsNotAcceptedThoughItsFirstScanWas) {
  const ScratchDir scratch;
  ASSERT_NO_FATAL_FAILURE(SimulateTown(scratch.Path("town")));
  const auto gate = std::make_shared<Gate>();
  server::TestServer served({}, std::make_unique<server::GatedEngine>(gate));
  const ProcessResult loaded = RunVoxloc({"map", "load", "--map", "town", "--server",
                                          served.server().address(), scratch.Path("town/map")});
  ASSERT_EQ(loaded.exit_code, 0) << loaded.error;
  gate->Close();
  const size_t before = gate->batches().size();
  const std::string out = scratch.Path("replay.json");
  const std::string log = scratch.Path("replay.log");
  ChildProcess replay(
      {ProgramPath(VOXLOC_VOXLOC), "replay", "--server", served.server().address(), "--map", "town",
       "--scans", scratch.Path("town/scans"), "--poses", scratch.Path("town/poses.txt"), "--points",
       "1500", "--min-range", "1", "--profile", "precise", "--json", out},
      log);
  gate->AwaitBatches(before + 1);
  EXPECT_TRUE(server::DeleteMap(served, "town").ok());
  gate->Open();
  std::ostringstream text;
  EXPECT_EQ(replay.Wait(), 4);
  text << std::ifstream(log).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("warning: the server had no map for 24 of 25 scans"));
  const json result = JsonIn(out);
  ASSERT_FALSE(result.is_discarded()) << text.str();
  EXPECT_EQ(result["answered"], 25);
  EXPECT_EQ(result["accepted"], 1);
  ASSERT_EQ(result["results"].size(), 25U);
  EXPECT_EQ(result["results"][0]["status"], "OK");
  EXPECT_EQ(result["results"][24]["status"], "NO_MAP");
}

}  // namespace
}  // namespace voxloc
