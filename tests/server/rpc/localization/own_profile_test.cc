// SPDX-License-Identifier: Apache-2.0
//
// A profile of the configuration, beside the built-in ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/small_town.h"
#include "tests/server/test_server.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OwnProfile, IsListedBuiltIntoMapsAndUsedByItsName) {
  TestServer server([](Config& config) {
    Profile own = PreciseProfile();
    own.name = "own";
    own.stages[0].cells.cell_size_m = 3.0;
    EXPECT_TRUE(config.profiles.Add(own).ok());
  });
  server.LoadTown();
  std::vector<std::string> names;
  const v1::GetServerInfoResponse info = ServerInfoOf(server);
  for (const v1::Profile& profile : info.profiles()) names.push_back(profile.name());
  EXPECT_THAT(names, ElementsAre("autoware", "precise", "own"));

  TestSession session(server);
  v1::OpenSession open = TownSession();
  open.mutable_setup()->mutable_options()->set_profile("own");
  session.Open(open);
  EXPECT_EQ(session.opened().profile().name(), "own");
  EXPECT_EQ(session.opened().profile().stages(0).cells().cell_size_m(), 3.0);
  EXPECT_EQ(session.Align(GoodScan()).status(), v1::ALIGNMENT_STATUS_OK);

  const auto context = TestServer::NewContext();
  v1::GetCellsRequest request;
  request.set_map("town");
  request.set_profile("own");
  v1::GetCellsResponse cells;
  const auto reader = server.maps->GetCells(context.get(), request);
  ASSERT_TRUE(reader->Read(&cells));
  EXPECT_EQ(cells.cell_size_m(), 3.0);
  context->TryCancel();
}

TEST(OwnProfile, AnUnknownNameIsAnsweredWithThoseThatThereAre) {
  TestServer server;
  server.LoadTown();
  v1::OpenSession open = TownSession();
  open.mutable_setup()->mutable_options()->set_profile("own");
  v1::AlignScansRequest first;
  *first.mutable_open() = open;
  TestSession session(server);
  session.Send(first);
  const grpc::Status status = session.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              HasSubstr("options.profile must be one of autoware, precise (got 'own')"));

  v1::GetCellsRequest request;
  request.set_map("town");
  request.set_profile("own");
  const auto context = TestServer::NewContext();
  const auto reader = server.maps->GetCells(context.get(), request);
  v1::GetCellsResponse cells;
  EXPECT_FALSE(reader->Read(&cells));
  const grpc::Status unknown = reader->Finish();
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(),
              HasSubstr("profile must be one of autoware, precise (got 'own')"));
}

}  // namespace
}  // namespace voxloc::server
