// SPDX-License-Identifier: Apache-2.0
//
// `voxloc map view` of files, and of a map service in the test's process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "clients/cli/commands/commands.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/clients/cli/page_data.h"
#include "tests/clients/cpp/fake_maps.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

using ::nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MapViewCommand : public ::testing::Test {
 protected:
  MapViewCommand() : server_(Behaviour()) {
    EXPECT_TRUE(WritePcd(scratch_.Path("town/a.pcd"), RandomCloud(4000, 1, false)).ok());
    EXPECT_TRUE(WritePcd(scratch_.Path("town/b.pcd"), RandomCloud(500, 2, false)).ok());
  }

  client::FakeBehaviour Behaviour() {
    client::FakeBehaviour behaviour = maps_.Behaviour();
    behaviour.get_server_info = [](grpc::ServerContext*, v1::GetServerInfoResponse* response) {
      v1::Profile* profile = response->add_profiles();
      profile->set_name("precise");
      profile->set_score_stage(1);
      profile->add_stages();
      profile->add_stages();
      response->set_default_profile("precise");
      return grpc::Status::OK;
    };
    behaviour.get_cells = [this](const v1::GetCellsRequest& request,
                                 client::FakeBehaviour::CellStream* stream) {
      stage_ = request.stage();
      v1::GetCellsResponse part;
      part.set_map_revision(cells_revision_);
      part.set_cell_size_m(2.0);
      for (int i = 0; i < 10; ++i) {
        part.add_points(7);
        for (const double value : {300.0 * i, 1.0, -0.5}) {
          part.add_index(0);
          part.add_mean(value);
        }
        for (const float value : {0.04F, 0.0F, 0.0F, 0.09F, 0.0F, 0.16F}) {
          part.add_covariance(value);
        }
      }
      stream->Write(part);
      return grpc::Status::OK;
    };
    // What the fake maps do not keep.
    behaviour.list_tiles = [this, list = behaviour.list_tiles](const v1::ListTilesRequest& request,
                                                               v1::ListTilesResponse* response) {
      const grpc::Status status = list(request, response);
      for (v1::TileInfo& tile : *response->mutable_tiles()) {
        tile.set_revision(1);
        if (tile.tile_id() == "b") tile.mutable_fit()->set_change(0.75);
        tile.set_damaged(tile.tile_id() == damaged_tile_);
      }
      return status;
    };
    behaviour.list_revisions = [](const v1::ListRevisionsRequest&,
                                  v1::ListRevisionsResponse* response) {
      v1::MapRevision* revision = response->add_revisions();
      revision->set_revision(1);
      revision->set_committed_at_ns(1'790'000'000'000'000'000);
      return grpc::Status::OK;
    };
    behaviour.list_sessions = [this](const v1::ListSessionsRequest& request,
                                     v1::ListSessionsResponse* response) {
      if (refuse_sessions_) return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "no admin");
      EXPECT_EQ(request.map(), "town");
      v1::SessionInfo* session = response->add_sessions();
      session->set_vehicle("bus");
      session->mutable_last_pose()->mutable_map_t_base()->mutable_position()->set_x(12.5);
      session->mutable_last_pose()->mutable_map_t_base()->mutable_orientation()->set_w(1.0);
      return grpc::Status::OK;
    };
    return behaviour;
  }

  absl::Status Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "map");
    arguments.insert(arguments.end(), {"--server", server_.address()});
    const ParsedCommandLine parsed = ParseCommandLine(arguments);
    if (!parsed.work) return absl::InvalidArgumentError(parsed.error);
    return parsed.work().status();
  }

  absl::Status View(const std::string& source, std::vector<std::string> flags = {}) {
    const std::string path = scratch_.Path("map.html");
    flags.insert(flags.begin(), {"view", source, "--html", path});
    const absl::Status status = Run(flags);
    if (!status.ok()) return status;
    html_ = FileText(path);
    data_ = json::parse(EmbeddedData(html_), nullptr, false);
    return status;
  }

  [[nodiscard]] std::vector<size_t> PointsShown() const {
    std::vector<size_t> shown;
    for (const json& tile : data_["tiles"]) {
      size_t levels = 0;
      for (const json& count : tile["levels"]) levels += count.get<size_t>();
      EXPECT_EQ(PackedBytes(tile).size(), 6 * levels);
      shown.push_back(levels);
    }
    return shown;
  }

  const ScratchDir scratch_;
  uint64_t cells_revision_ = 1;
  uint32_t stage_ = 0;
  bool refuse_sessions_ = false;
  std::string damaged_tile_;
  client::FakeMaps maps_;
  client::FakeServer server_;
  std::string html_;
  json data_;
};

TEST_F(MapViewCommand, OfFilesShowsEachAsATile) {
  ASSERT_TRUE(View(scratch_.Path("town")).ok());
  ASSERT_EQ(data_["tiles"].size(), 2U);
  EXPECT_EQ(data_["tiles"][0]["id"], "a");
  EXPECT_EQ(data_["tiles"][0]["points"], 4000);
  EXPECT_TRUE(data_["tiles"][0]["info"].is_null());
  EXPECT_THAT(PointsShown(), ElementsAre(4000, 500));
  EXPECT_THAT(html_, ::testing::Not(HasSubstr("{{"))) << "a part of the page is missing";
  EXPECT_THAT(html_, ::testing::Not(HasSubstr("http")));
}

TEST_F(MapViewCommand, TheFileIsBoundedByTheNumberOfPoints) {
  ASSERT_TRUE(View(scratch_.Path("town"), {"--points", "1000"}).ok());
  const std::vector<size_t> few = PointsShown();
  EXPECT_EQ(few[0] + few[1], 1000U);
  const size_t bytes = html_.size();
  ASSERT_TRUE(View(scratch_.Path("town"), {"--points", "3000"}).ok());
  EXPECT_NEAR(static_cast<double>(html_.size() - bytes), 8.0 * 2000, 100.0);
  EXPECT_EQ(View(scratch_.Path("town"), {"--points", "10"}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(MapViewCommand, OfAServerShowsRevisionsCellsAndSessions) {
  ASSERT_TRUE(Run({"load", "--map", "town", scratch_.Path("town")}).ok());
  ASSERT_TRUE(View("town@active").ok());
  EXPECT_EQ(data_["headline"], "Map town@1");
  ASSERT_EQ(data_["tiles"].size(), 2U);
  EXPECT_EQ(data_["tiles"][1]["info"]["revision"], 1);
  EXPECT_EQ(data_["tiles"][1]["info"]["fit"]["change"], 0.75);
  EXPECT_TRUE(data_["tiles"][0]["info"]["fit"].is_null());
  EXPECT_EQ(data_["tiles"][0]["changed_at_ns"], 1'790'000'000'000'000'000);
  EXPECT_THAT(PointsShown(), ElementsAre(4000, 500));
  EXPECT_EQ(data_["sessions"][0]["vehicle"], "bus");
  EXPECT_EQ(data_["sessions"][0]["last_pose"]["map_t_base"][0], 12.5);
  EXPECT_EQ(stage_, 1U) << "the stage that scores";
  ASSERT_EQ(data_["layers"].size(), 1U);
  const json& layer = data_["layers"][0];
  EXPECT_EQ(layer["count"], 10);
  // The mean of each cell, and the root of its covariance.
  std::vector<double> means;
  for (const json& block : layer["blocks"]) {
    const std::string bytes = PackedBytes(block);
    ASSERT_EQ(bytes.size(), 18 * block["count"].get<size_t>());
    const auto number = [&bytes](size_t k) { return PackedInt16(bytes, k); };
    for (size_t i = 0; i < block["count"]; ++i) {
      means.push_back(block["origin"][0].get<double>() + 0.005 * number(9 * i));
      EXPECT_NEAR(0.001 * number(9 * i + 3), 0.2, 1e-3);
      EXPECT_NEAR(0.001 * number(9 * i + 6), 0.3, 1e-3);
      EXPECT_NEAR(0.001 * number(9 * i + 8), 0.4, 1e-3);
    }
  }
  ASSERT_EQ(means.size(), 10U);
  for (size_t i = 0; i < 10; ++i) EXPECT_NEAR(means[i], 300.0 * static_cast<double>(i), 0.003);
}

TEST_F(MapViewCommand, CellsAreThinnedAndThoseOfAnotherRevisionLeftOut) {
  ASSERT_TRUE(Run({"load", "--map", "town", scratch_.Path("town")}).ok());
  ASSERT_TRUE(View("town", {"--cells", "5", "--stage", "0"}).ok());
  EXPECT_EQ(data_["layers"][0]["count"], 5);
  EXPECT_EQ(data_["layers"][0]["cells_of"], 10);
  EXPECT_EQ(stage_, 0U);
  cells_revision_ = 2;
  ASSERT_TRUE(View("town@1").ok());
  EXPECT_TRUE(data_["layers"].empty());
  EXPECT_THAT(data_["notes"][0].get<std::string>(), HasSubstr("revision 2"));
}

TEST_F(MapViewCommand, SessionsThatMayNotBeListedAreANote) {
  ASSERT_TRUE(Run({"load", "--map", "town", scratch_.Path("town")}).ok());
  refuse_sessions_ = true;
  ASSERT_TRUE(View("town", {"--cells", "0"}).ok());
  EXPECT_TRUE(data_["sessions"].empty());
  EXPECT_THAT(data_["notes"][0].get<std::string>(), HasSubstr("no admin"));
  ASSERT_TRUE(View("town", {"--cells", "0", "--no-sessions"}).ok());
  EXPECT_TRUE(data_["notes"].empty());
}

TEST_F(MapViewCommand, DamagedTilesAreListedWithoutPoints) {
  ASSERT_TRUE(Run({"load", "--map", "town", scratch_.Path("town")}).ok());
  maps_.DamageTile("b");
  EXPECT_EQ(View("town", {"--cells", "0"}).code(), absl::StatusCode::kDataLoss);
  damaged_tile_ = "b";
  ASSERT_TRUE(View("town", {"--cells", "0"}).ok());
  ASSERT_EQ(data_["tiles"].size(), 2U);
  for (const json& tile : data_["tiles"]) {
    EXPECT_EQ(tile["info"]["damaged"], tile["id"] == "b");
    EXPECT_EQ(PackedBytes(tile).empty(), tile["id"] == "b");
  }
}

TEST_F(MapViewCommand, UnknownMapsAreAnError) {
  EXPECT_EQ(View("nowhere").code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace voxloc::cli
