// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/map_transaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/clients/cpp/fake_server.h"

namespace voxloc::client {
namespace {

using ::testing::HasSubstr;

// CRC-32C bit by bit, as its definition has it.
uint32_t SlowCrc32c(const std::string& bytes) {
  uint32_t crc = 0xffffffffu;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

// Records what arrives and answers as the contract says.
struct Recorder {
  uint64_t max_chunk_bytes = 1 << 20;
  std::vector<v1::UpdateMapTilesRequest> requests;

  grpc::Status Serve(FakeBehaviour::UpdateStream* stream) {
    v1::UpdateMapTilesRequest request;
    while (stream->Read(&request)) {
      requests.push_back(request);
      v1::UpdateMapTilesResponse response;
      if (request.has_begin()) response.mutable_begun()->set_max_chunk_bytes(max_chunk_bytes);
      if (request.has_chunk() && request.chunk().last()) {
        response.mutable_tile_added()->set_tile_id(request.chunk().tile_id());
        response.mutable_tile_added()->set_points(request.chunk().total_points() - 1);
        response.mutable_tile_added()->set_not_finite(1);
      }
      if (request.has_reuse() && request.reuse().tile_id() == "new") {
        response.mutable_tile_missing()->set_tile_id("new");
      } else if (request.has_reuse()) {
        response.mutable_tile_added()->set_tile_id(request.reuse().tile_id());
        response.mutable_tile_added()->set_points(7);
      }
      if (request.has_remove()) response.mutable_tile_removed()->set_existed(true);
      if (request.has_commit()) {
        response.mutable_committed()->mutable_map()->set_revision(42);
        stream->Write(response);
        return grpc::Status::OK;
      }
      if (response.response_case() != v1::UpdateMapTilesResponse::RESPONSE_NOT_SET) {
        stream->Write(response);
      }
    }
    return grpc::Status::OK;
  }

  FakeBehaviour Behaviour() {
    FakeBehaviour behaviour;
    behaviour.update_map_tiles = [this](FakeBehaviour::UpdateStream* stream) {
      return Serve(stream);
    };
    return behaviour;
  }
};

v1::CommitUpdate Comment(const std::string& text) {
  v1::CommitUpdate commit;
  commit.set_comment(text);
  return commit;
}

PointCloud CloudOf(size_t points) {
  PointCloud cloud;
  cloud.origin = Eigen::Vector3d(400000.0, 4000000.0, 100.0);
  for (size_t i = 0; i < points; ++i) {
    cloud.PushBack(static_cast<float>(i), static_cast<float>(i) * 0.5f, -1.0f);
  }
  return cloud;
}

TEST(MapTransaction, CutsATileIntoChunksWithChecksums) {
  Recorder recorder;
  recorder.max_chunk_bytes = 1000;  // 83 points of 12 bytes
  FakeServer server(recorder.Behaviour());
  TransactionOptions options;
  options.begin.set_map("town");
  options.begin.set_create(true);
  const auto transaction = MapTransaction::Begin(ChannelTo(server.address()), options);
  ASSERT_TRUE(transaction.ok()) << transaction.status();
  const PointCloud cloud = CloudOf(200);
  ASSERT_TRUE((*transaction)->AddTile("a", cloud).ok());
  ASSERT_TRUE((*transaction)->AddTile("empty", PointCloud()).ok());
  ASSERT_TRUE((*transaction)->RemoveTile("old").ok());
  const auto committed = (*transaction)->Commit(Comment("note"));
  ASSERT_TRUE(committed.ok()) << committed.status();
  EXPECT_EQ(committed->map().revision(), 42u);
  EXPECT_EQ((*transaction)->counts().points_not_finite, 2u);

  ASSERT_EQ(recorder.requests.size(), 1u + 3u + 1u + 1u + 1u);
  EXPECT_EQ(recorder.requests[0].begin().map(), "town");
  std::string bytes;
  for (size_t i = 0; i < 3; ++i) {
    const v1::TileChunk& chunk = recorder.requests[1 + i].chunk();
    EXPECT_EQ(chunk.tile_id(), "a");
    EXPECT_EQ(chunk.chunk_index(), i);
    EXPECT_LE(chunk.cloud().data().size(), 1000u);
    EXPECT_EQ(chunk.cloud().data().size() % 12, 0u);
    EXPECT_EQ(chunk.crc32c(), SlowCrc32c(chunk.cloud().data()));
    EXPECT_EQ(chunk.last(), i == 2);
    EXPECT_EQ(chunk.cloud().origin().y(), 4000000.0);
    bytes += chunk.cloud().data();
  }
  EXPECT_EQ(recorder.requests[3].chunk().total_points(), 200u);
  EXPECT_EQ(recorder.requests[2].chunk().sha256(), "");
  const double origin[3] = {400000.0, 4000000.0, 100.0};
  const std::string hashed(reinterpret_cast<const char*>(origin), sizeof(origin));
  EXPECT_EQ(recorder.requests[3].chunk().sha256(), ToBytes(Sha256Of(hashed + bytes)));
  ASSERT_EQ(bytes.size(), 2400u);
  float last[3];
  std::memcpy(last, bytes.data() + 2400 - 12, 12);
  EXPECT_EQ(last[0], 199.0f);
  EXPECT_EQ(last[1], 99.5f);
  const v1::TileChunk& empty = recorder.requests[4].chunk();
  EXPECT_TRUE(empty.last());
  EXPECT_EQ(empty.crc32c(), 0u);
  EXPECT_EQ(recorder.requests[5].remove().tile_id(), "old");
  EXPECT_EQ(recorder.requests[6].commit().comment(), "note");
}

TEST(MapTransaction, SendsManyTilesWithoutWaitingForEach) {
  Recorder recorder;
  FakeServer server(recorder.Behaviour());
  TransactionOptions options;
  options.begin.set_map("town");
  const auto transaction = MapTransaction::Begin(ChannelTo(server.address()), options);
  ASSERT_TRUE(transaction.ok()) << transaction.status();
  const PointCloud cloud = CloudOf(100);
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE((*transaction)->AddTile("tile-" + std::to_string(i), cloud).ok());
  }
  ASSERT_TRUE((*transaction)->Commit({}).ok());
  EXPECT_EQ((*transaction)->counts().points_kept, 300u * 99u);
}

TEST(MapTransaction, SendsOfWhatItOffersOnlyWhatIsMissing) {
  Recorder recorder;
  FakeServer server(recorder.Behaviour());
  TransactionOptions options;
  options.begin.set_map("town");
  const auto transaction = MapTransaction::Begin(ChannelTo(server.address()), options);
  ASSERT_TRUE(transaction.ok()) << transaction.status();
  const Sha256Digest digest = Sha256Of("a digest");
  ASSERT_TRUE((*transaction)->OfferTile("old", CloudOf(50), digest).ok());
  ASSERT_TRUE((*transaction)->OfferTile("new", CloudOf(60), digest).ok());
  ASSERT_TRUE((*transaction)->ReuseTile("known", digest).ok());
  ASSERT_TRUE((*transaction)->Commit({}).ok());
  EXPECT_EQ((*transaction)->counts().tiles_sent, 1u);
  EXPECT_EQ((*transaction)->counts().tiles_reused, 2u);
  EXPECT_EQ((*transaction)->counts().bytes_sent, 60u * 12u);
  EXPECT_EQ((*transaction)->counts().points_kept, 7u + 7u + 59u);
  ASSERT_EQ(recorder.requests.size(), 1u + 3u + 1u + 1u);
  EXPECT_EQ(recorder.requests[1].reuse().tile_id(), "old");
  EXPECT_EQ(recorder.requests[1].reuse().sha256(), ToBytes(digest));
  EXPECT_EQ(recorder.requests[4].chunk().tile_id(), "new");
  EXPECT_EQ(recorder.requests[4].chunk().sha256(), ToBytes(digest));
}

TEST(MapTransaction, DoesNotCommitWithoutAMissingTile) {
  Recorder recorder;
  FakeServer server(recorder.Behaviour());
  TransactionOptions options;
  options.begin.set_map("town");
  const auto transaction = MapTransaction::Begin(ChannelTo(server.address()), options);
  ASSERT_TRUE(transaction.ok()) << transaction.status();
  ASSERT_TRUE((*transaction)->ReuseTile("new", Sha256Of("")).ok());
  ASSERT_TRUE((*transaction)->ReuseTile("known", Sha256Of("")).ok());
  ASSERT_TRUE((*transaction)->Flush().ok());
  EXPECT_EQ((*transaction)->TakeMissing(), std::vector<std::string>{"new"});
  EXPECT_TRUE((*transaction)->TakeMissing().empty());
  const absl::Status status = (*transaction)->Commit({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("tile new"));

  const auto second = MapTransaction::Begin(ChannelTo(server.address()), options);
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_TRUE((*second)->ReuseTile("new", Sha256Of("")).ok());
  ASSERT_TRUE((*second)->Flush().ok());
  ASSERT_TRUE((*second)->AddTile("new", CloudOf(10)).ok());
  EXPECT_TRUE((*second)->Commit({}).ok());
}

TEST(MapTransaction, EndsWithTheServersErrorAndKeepsIt) {
  FakeBehaviour behaviour;
  behaviour.update_map_tiles = [](FakeBehaviour::UpdateStream* stream) {
    v1::UpdateMapTilesRequest request;
    stream->Read(&request);
    v1::UpdateMapTilesResponse response;
    response.mutable_begun();
    stream->Write(response);
    stream->Read(&request);
    return grpc::Status(grpc::StatusCode::DATA_LOSS, "checksum of tile 'a'");
  };
  FakeServer server(behaviour);
  TransactionOptions options;
  options.begin.set_map("town");
  const auto transaction = MapTransaction::Begin(ChannelTo(server.address()), options);
  ASSERT_TRUE(transaction.ok()) << transaction.status();
  absl::Status added = (*transaction)->AddTile("a", CloudOf(10));
  const absl::Status committed = (*transaction)->Commit({}).status();
  EXPECT_EQ(committed.code(), absl::StatusCode::kDataLoss) << committed;
  EXPECT_THAT(std::string(committed.message()), HasSubstr("UpdateMapTiles: checksum of tile 'a'"));
  EXPECT_EQ((*transaction)->RemoveTile("b").code(), absl::StatusCode::kDataLoss);
}

TEST(MapTransaction, DoesNotWaitForEverForAnAnswer) {
  FakeBehaviour behaviour;
  behaviour.update_map_tiles = [](FakeBehaviour::UpdateStream* stream) {
    v1::UpdateMapTilesRequest request;
    while (stream->Read(&request)) {
    }
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  TransactionOptions options;
  options.begin.set_map("town");
  options.timeout_s = 0.2;
  const auto transaction = MapTransaction::Begin(ChannelTo(server.address()), options);
  EXPECT_EQ(transaction.status().code(), absl::StatusCode::kDeadlineExceeded)
      << transaction.status();
}

TEST(MapTransaction, IsCancelledWhenDestroyedWithoutCommit) {
  bool committed = false;
  bool ended = false;
  FakeBehaviour behaviour;
  behaviour.update_map_tiles = [&](FakeBehaviour::UpdateStream* stream) {
    v1::UpdateMapTilesRequest request;
    while (stream->Read(&request)) {
      committed = committed || request.has_commit();
      v1::UpdateMapTilesResponse response;
      if (request.has_begin()) response.mutable_begun();
      if (request.has_chunk()) response.mutable_tile_added();
      stream->Write(response);
    }
    ended = true;
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  {
    TransactionOptions options;
    options.begin.set_map("town");
    const auto transaction = MapTransaction::Begin(ChannelTo(server.address()), options);
    ASSERT_TRUE(transaction.ok()) << transaction.status();
    ASSERT_TRUE((*transaction)->AddTile("a", CloudOf(10)).ok());
  }
  server.Stop();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(committed);
}

}  // namespace
}  // namespace voxloc::client
