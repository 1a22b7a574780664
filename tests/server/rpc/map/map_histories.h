// SPDX-License-Identifier: Apache-2.0
//
// Histories of maps made of a seed: commits, staged and not, activations, withdrawals, deletions
// and restarts of the server, beside a model of what is there then.

#ifndef VOXLOC_TESTS_SERVER_RPC_MAP_MAP_HISTORIES_H_
#define VOXLOC_TESTS_SERVER_RPC_MAP_MAP_HISTORIES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/server/map_calls.h"
#include "tests/server/test_server.h"
#include "tests/support/eventually.h"
#include "tests/support/random_numbers.h"

namespace voxloc::server {

class MapHistory {
 public:
  using Start = std::function<std::unique_ptr<TestServer>()>;

  MapHistory(uint64_t seed, Start start)
      : random_(seed), start_(std::move(start)), server_(start_()) {}

  // A step, after which a new server is ready and has what the model has.
  void Step() {
    const std::string map = random_.Index(2) == 0 ? "town" : "city";
    switch (random_.Index(6)) {
      case 0:
        Commit(map, /*stage=*/false);
        break;
      case 1:
      case 2:
        Commit(map, /*stage=*/true);
        break;
      case 3:
        Activate(map);
        break;
      case 4:
        Withdraw(map);
        break;
      default:
        Delete(map);
        break;
    }
    log_ += "restart; ";
    server_.reset();
    server_ = start_();
    Check();
  }

  // What was done.
  [[nodiscard]] const std::string& log() const { return log_; }

 private:
  struct Map {
    uint64_t active = 0;
    std::map<uint64_t, uint64_t> staged;  // with their parents
  };

  void Commit(const std::string& map, bool stage) {
    absl::StrAppend(&log_, stage ? "stage " : "commit ", map, "; ");
    const bool there = maps_.count(map) > 0;
    const bool only_staged = there && maps_[map].active == 0;
    // One tile more or other points in it, on a map that may begin so.
    const double max = random_.Uniform(5.0, 25.0);
    const UpdateOutcome outcome =
        RunUpdate(*server_, {BeginRequest(map), TileRequest("tile", TownStrip(0.0, max)),
                             stage ? StageRequest() : CommitRequest()});
    const bool full = there && stage && maps_[map].staged.size() >= kMaxStaged;
    ASSERT_EQ(outcome.status.ok(), !only_staged && !full) << outcome.status.error_message();
    if (!outcome.status.ok()) return;
    const uint64_t revision = outcome.committed.map().revision();
    EXPECT_GT(revision, numbers_[map]) << "a number was used twice";
    numbers_[map] = revision;
    if (stage) {
      maps_[map].staged[revision] = maps_[map].active;
    } else {
      maps_[map].active = revision;
    }
  }
  void Activate(const std::string& map) {
    const uint64_t revision = AnyStaged(map);
    absl::StrAppend(&log_, "activate ", map, " ", revision, "; ");
    v1::ActivateRevisionRequest request;
    request.set_map(map);
    request.set_revision(revision);
    v1::ActivateRevisionResponse response;
    const bool ok =
        server_->maps->ActivateRevision(TestServer::NewContext().get(), request, &response).ok();
    const auto it = maps_.find(map);
    const bool may = it != maps_.end() && it->second.staged.count(revision) > 0 &&
                     it->second.staged[revision] == it->second.active;
    ASSERT_EQ(ok, may);
    if (!ok) return;
    it->second.staged.erase(revision);
    it->second.active = revision;
  }
  void Withdraw(const std::string& map) {
    const uint64_t revision = AnyStaged(map);
    absl::StrAppend(&log_, "withdraw ", map, " ", revision, "; ");
    v1::WithdrawRevisionRequest request;
    request.set_map(map);
    request.set_revision(revision);
    v1::WithdrawRevisionResponse response;
    const bool ok =
        server_->maps->WithdrawRevision(TestServer::NewContext().get(), request, &response).ok();
    const auto it = maps_.find(map);
    ASSERT_EQ(ok, it != maps_.end() && it->second.staged.count(revision) > 0);
    if (!ok) return;
    it->second.staged.erase(revision);
    if (it->second.active == 0 && it->second.staged.empty()) maps_.erase(it);
  }
  void Delete(const std::string& map) {
    absl::StrAppend(&log_, "delete ", map, "; ");
    ASSERT_EQ(DeleteMap(*server_, map).ok(), maps_.erase(map) > 0);
  }

  void Check() {
    ASSERT_TRUE(Eventually([&] {
      return ServerInfoOf(*server_).state() == v1::SERVER_STATE_SERVING;
    })) << "never ready";
    for (const std::string map : {"town", "city"}) {
      v1::GetMapRequest request;
      request.set_map(map);
      v1::GetMapResponse response;
      const grpc::Status status =
          server_->maps->GetMap(TestServer::NewContext().get(), request, &response);
      const auto it = maps_.find(map);
      const grpc::StatusCode expected = it == maps_.end() ? grpc::StatusCode::NOT_FOUND
                                        : it->second.active == 0
                                            ? grpc::StatusCode::FAILED_PRECONDITION
                                            : grpc::StatusCode::OK;
      EXPECT_EQ(status.error_code(), expected) << map << ": " << status.error_message();
      if (expected == grpc::StatusCode::OK) {
        EXPECT_EQ(response.map().revision(), it->second.active);
      }
      if (it == maps_.end()) continue;
      std::set<uint64_t> staged;
      for (const v1::MapRevision& revision : Revisions(*server_, map)) {
        if (revision.state() == v1::REVISION_STATE_STAGED) staged.insert(revision.revision());
      }
      std::set<uint64_t> expected_staged;
      for (const auto& [revision, parent] : it->second.staged) expected_staged.insert(revision);
      EXPECT_EQ(staged, expected_staged) << map;
    }
    EXPECT_EQ(ServerInfoOf(*server_).maps(), maps_.size());
  }

  // One of the map, or a number that it does not have.
  uint64_t AnyStaged(const std::string& map) {
    const auto it = maps_.find(map);
    if (it == maps_.end() || it->second.staged.empty()) return numbers_[map] + 7;
    auto staged = it->second.staged.begin();
    std::advance(staged, random_.Index(static_cast<int>(it->second.staged.size())));
    return staged->first;
  }

  static constexpr size_t kMaxStaged = 4;

  RandomNumbers random_;
  const Start start_;
  std::map<std::string, Map> maps_;
  std::map<std::string, uint64_t> numbers_;  // the last ones that were given
  std::string log_;
  std::unique_ptr<TestServer> server_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_RPC_MAP_MAP_HISTORIES_H_
