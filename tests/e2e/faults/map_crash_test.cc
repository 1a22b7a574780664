// SPDX-License-Identifier: Apache-2.0
//
// voxlocd is killed at random times while two clients change two maps. After each restart each map
// is complete, at the last acknowledged revision or at that of the pending commit.
// VOXLOC_CRASH_REPETITIONS sets the number of kills.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/checksum/sha256.h"
#include "tests/e2e/child_process.h"
#include "tests/e2e/program_path.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"
#include "voxloc/v1/map_service.grpc.pb.h"

namespace voxloc {
namespace {

using Tiles = std::map<std::string, std::string>;  // digests by id

int Repetitions() {
  int repetitions = 0;
  const char* const text = std::getenv("VOXLOC_CRASH_REPETITIONS");
  return text != nullptr && absl::SimpleAtoi(text, &repetitions) ? repetitions : 5;
}

std::unique_ptr<grpc::ClientContext> NewContext() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  return context;
}

PointCloud RandomCloud(std::mt19937& random) {
  std::uniform_real_distribution<float> coordinate(-50.0F, 50.0F);
  PointCloud cloud;
  const size_t points = 100 + random() % 3000;
  for (size_t i = 0; i < points; ++i) {
    cloud.PushBack(coordinate(random), coordinate(random), coordinate(random));
  }
  return cloud;
}

class Voxlocd {
 public:
  explicit Voxlocd(const ScratchDir& folder, const std::string& data = "maps") {
    const std::string ready = folder.Path("ready.json");
    std::remove(ready.c_str());  // of a server that was killed
    process_ = std::make_unique<ChildProcess>(
        std::vector<std::string>{ProgramPath(VOXLOC_VOXLOCD), "--listen=127.0.0.1:0",
                                 "--metrics-listen=off", "--engine=cpu",
                                 absl::StrCat("--data-dir=", folder.Path(data)),
                                 absl::StrCat("--ready-file=", ready)},
        folder.Path("log"));
    EXPECT_TRUE(Eventually([&] { return std::ifstream(ready).good() || !process_->running(); }));
    std::ifstream file(ready);
    const nlohmann::json ready_info = nlohmann::json::parse(file, nullptr, false);
    EXPECT_FALSE(ready_info.is_discarded());
    channel_ =
        grpc::CreateChannel(ready_info.value("listen", ""), grpc::InsecureChannelCredentials());
    stub_ = v1::MapService::NewStub(channel_);
  }

  void Kill() {
    process_->Signal(SIGKILL);
    static_cast<void>(process_->Wait());
  }
  [[nodiscard]] v1::MapService::Stub& maps() const { return *stub_; }

 private:
  std::unique_ptr<ChildProcess> process_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::MapService::Stub> stub_;
};

// Changes one map, commit after commit, and knows what each revision should be.
class Writer {
 public:
  Writer(std::string map, uint32_t seed) : map_(std::move(map)), random_(seed) {}

  // Until the server is gone.
  void Run(v1::MapService::Stub& maps) {
    while (CommitChange(maps)) {
    }
  }

  // The map as a server has it after a restart.
  void Check(v1::MapService::Stub& maps) {
    v1::GetMapRequest request;
    request.set_map(map_);
    v1::GetMapResponse response;
    grpc::Status status;
    ASSERT_TRUE(Eventually([&] {  // it is loaded while the server answers
      status = maps.GetMap(NewContext().get(), request, &response);
      return status.error_code() != grpc::StatusCode::UNAVAILABLE;
    })) << status.error_message();
    const uint64_t revision = status.ok() ? response.map().revision() : 0;
    const bool acknowledged = revision == revision_;
    ASSERT_TRUE(acknowledged || (revision == revision_ + 1 && unacknowledged_.has_value()))
        << map_ << " is at revision " << revision << ", acknowledged was " << revision_ << ". "
        << status.error_message();
    if (!acknowledged) tiles_ = *unacknowledged_;
    revision_ = revision;
    unacknowledged_.reset();
    if (revision > 0) CheckTiles(maps);
  }

  // The map as a server has it that serves a copy of some moment.
  void CheckCopy(v1::MapService::Stub& maps) {
    v1::GetMapRequest request;
    request.set_map(map_);
    v1::GetMapResponse response;
    ASSERT_TRUE(Eventually([&] {
      return maps.GetMap(NewContext().get(), request, &response).error_code() !=
             grpc::StatusCode::UNAVAILABLE;
    }));
    const auto then = history_.find(response.map().revision());
    ASSERT_NE(then, history_.end()) << response.map().revision();
    tiles_ = then->second;
    CheckTiles(maps);
  }

  [[nodiscard]] uint64_t revision() const { return revision_; }

 private:
  // False: the server is gone.
  bool CommitChange(v1::MapService::Stub& maps) {
    const auto context = NewContext();
    const auto stream = maps.UpdateMapTiles(context.get());
    std::vector<v1::UpdateMapTilesRequest> requests = {server::BeginRequest(map_)};
    Tiles next = tiles_;
    for (uint32_t i = 0; i < 1 + random_() % 3; ++i) {
      const std::string id = absl::StrCat("t", random_() % 8);
      if (random_() % 4 == 0) {
        requests.push_back(server::RemoveRequest(id));
        next.erase(id);
      } else {
        const PointCloud cloud = RandomCloud(random_);
        requests.push_back(server::TileRequest(id, cloud));
        next[id] = DigestOf(std::string(3 * sizeof(double), '\0') +
                            requests.back().chunk().cloud().data());
      }
    }
    v1::UpdateMapTilesResponse response;
    for (const v1::UpdateMapTilesRequest& request : requests) {
      if (!stream->Write(request) || !stream->Read(&response)) return IsServerGone(*stream);
    }
    unacknowledged_ = next;
    if (!stream->Write(server::CommitRequest()) || !stream->Read(&response))
      return IsServerGone(*stream);
    EXPECT_TRUE(response.has_committed()) << response.ShortDebugString();
    EXPECT_EQ(response.committed().map().revision(), revision_ + 1);
    revision_ = response.committed().map().revision();
    tiles_ = std::move(next);
    history_[revision_] = tiles_;
    unacknowledged_.reset();
    return stream->Finish().ok();
  }

  template <typename Stream>
  static bool IsServerGone(Stream& stream) {
    const grpc::Status status = stream.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
    return false;
  }

  static std::string DigestOf(const std::string& content) { return ToBytes(Sha256Of(content)); }

  // All of them, point by point.
  void CheckTiles(v1::MapService::Stub& maps) const {
    v1::GetTilesRequest request;
    request.set_map(map_);
    const auto context = NewContext();
    const auto reader = maps.GetTiles(context.get(), request);
    std::map<std::string, std::string> contents;
    std::string id;
    v1::GetTilesResponse part;
    while (reader->Read(&part)) {
      if (part.has_tile()) {
        id = part.tile().tile_id();
        EXPECT_EQ(part.tile().sha256(), tiles_.count(id) > 0 ? tiles_.at(id) : "") << id;
        contents[id] = std::string(3 * sizeof(double), '\0');
      }
      contents[id] += part.cloud().data();
    }
    const grpc::Status status = reader->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(contents.size(), tiles_.size());
    for (const auto& [tile, content] : contents) {
      EXPECT_EQ(DigestOf(content), tiles_.count(tile) > 0 ? tiles_.at(tile) : "") << tile;
    }
  }

  const std::string map_;
  std::mt19937 random_;
  uint64_t revision_ = 0;                // acknowledged
  Tiles tiles_;                          // of it
  std::map<uint64_t, Tiles> history_;    // of all that were acknowledged
  std::optional<Tiles> unacknowledged_;  // of a commit that was sent and not answered
};

TEST(MapCrash, LeavesEachMapAtAnAcknowledgedRevisionOrTheOneUnderWay) {
  const ScratchDir folder;
  std::array<Writer, 2> writers = {Writer("north", 1), Writer("south", 2)};
  std::mt19937 random(3);
  // Until each has a revision: a slow machine may not have come to one before the first kills.
  int repetitions = Repetitions();
  const int most = 20 * repetitions;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    SCOPED_TRACE(repetition);
    Voxlocd voxlocd(folder);
    for (Writer& writer : writers) ASSERT_NO_FATAL_FAILURE(writer.Check(voxlocd.maps()));
    std::vector<std::thread> threads;
    threads.reserve(writers.size());
    for (Writer& writer : writers) {
      threads.emplace_back([&] { writer.Run(voxlocd.maps()); });
    }
    absl::SleepFor(absl::Milliseconds(random() % 400));
    voxlocd.Kill();
    for (std::thread& thread : threads) thread.join();
    const bool both = writers[0].revision() > 0 && writers[1].revision() > 0;
    if (!both && repetition + 1 == repetitions && repetitions < most) ++repetitions;
  }
  Voxlocd voxlocd(folder);
  for (Writer& writer : writers) ASSERT_NO_FATAL_FAILURE(writer.Check(voxlocd.maps()));
  for (const Writer& writer : writers) EXPECT_GT(writer.revision(), 0u);
  std::cout << repetitions << " kills; revisions " << writers[0].revision() << " and "
            << writers[1].revision() << std::endl;
}

TEST(MapBackup, OfMapsThatChangeIsOneMoment) {
  const ScratchDir folder;
  std::array<Writer, 2> writers = {Writer("north", 4), Writer("south", 5)};
  {
    Voxlocd voxlocd(folder);
    std::vector<std::thread> threads;
    threads.reserve(writers.size());
    for (Writer& writer : writers) {
      threads.emplace_back([&] { writer.Run(voxlocd.maps()); });
    }
    v1::ListMapsResponse maps;
    EXPECT_TRUE(Eventually([&] {
      return voxlocd.maps().ListMaps(NewContext().get(), {}, &maps).ok() && maps.maps_size() == 2;
    }));
    const ProcessResult backup = RunProcess({ProgramPath(VOXLOC_VOXLOCD), "backup", "--data-dir",
                                             folder.Path("maps"), "--to", folder.Path("copy.db")});
    EXPECT_EQ(backup.exit_code, 0) << backup.error;
    voxlocd.Kill();
    for (std::thread& thread : threads) thread.join();
  }
  const ProcessResult restored =
      RunProcess({ProgramPath(VOXLOC_VOXLOCD), "restore", "--data-dir", folder.Path("other"),
                  "--from", folder.Path("copy.db")});
  EXPECT_EQ(restored.exit_code, 0) << restored.error;
  Voxlocd voxlocd(folder, "other");
  for (Writer& writer : writers) ASSERT_NO_FATAL_FAILURE(writer.CheckCopy(voxlocd.maps()));
}

TEST(MapBackup, SaysWhatIsWrong) {
  const ScratchDir folder;
  const std::string program = ProgramPath(VOXLOC_VOXLOCD);
  EXPECT_EQ(RunProcess({program, "backup", "--help"}).exit_code, 0);
  EXPECT_EQ(RunProcess({program, "backup", "--data-dir", folder.Path("maps")}).exit_code, 2);
  const ProcessResult nothing =
      RunProcess({program, "backup", "--data-dir", folder.Path("maps"), "--to", folder.Path("x")});
  EXPECT_NE(nothing.exit_code, 0);
  EXPECT_NE(nothing.error.find("maps.db"), std::string::npos) << nothing.error;
  const std::string text = folder.Write("text", "not a database");
  EXPECT_NE(
      RunProcess({program, "restore", "--data-dir", folder.Path("maps"), "--from", text}).exit_code,
      0);
}

}  // namespace
}  // namespace voxloc
