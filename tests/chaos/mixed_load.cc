// SPDX-License-Identifier: Apache-2.0

#include "tests/chaos/mixed_load.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/align.h"
#include "clients/cpp/channel.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/map_transaction.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/score_client.h"
#include "clients/cpp/search_client.h"
#include "clients/cpp/session.h"
#include "tests/chaos/raw_http2.h"
#include "tests/chaos/town_load.h"
#include "tests/server/plain_calls.h"
#include "tests/server/pose_search_calls.h"
#include "tests/server/small_town.h"

namespace voxloc::chaos {
namespace {

constexpr double kTimeout_s = 30.0;
constexpr uint64_t kScansOfSession = 20;
// How often the threads check whether to stop.
constexpr double kPoll_s = 0.05;

client::Channel ChannelTo(const std::string& address) {
  client::ChannelOptions options;
  options.server = address;
  return *client::Channel::Create(options);  // the address is well-formed
}

// A session of some scans that every third time is cancelled with the last of them on its way.
absl::Status DriveSession(const client::Channel& channel, const cli::LoadDrive& drive,
                          const std::string& vehicle, uint64_t round) {
  client::SessionOptions options;
  options.open.mutable_setup()->set_map(kTown);
  options.open.mutable_setup()->set_vehicle(vehicle);
  const auto session = client::LocalizationSession::Open(channel, options);
  if (!session.ok()) return session.status();
  for (uint64_t i = 0; i < kScansOfSession; ++i) {
    client::ScanInput scan;
    const size_t index = drive.IndexAt(round + i);
    scan.encoded_cloud = &drive.scans[index];
    scan.guess_map_T_base = drive.guesses_map_T_base[index];
    const auto sequence = (*session)->Send(scan);
    if (!sequence.ok()) return sequence.status();
    if (round % 3 == 0 && i + 1 == kScansOfSession) return absl::OkStatus();
    const auto result = (*session)->ReceiveResultOf(*sequence, kTimeout_s);
    if (!result.ok()) return result.status();
  }
  return (*session)->Close(kTimeout_s);
}

absl::Status AlignOne(const client::Channel& channel, const cli::LoadDrive& drive, uint64_t round) {
  v1::AlignScanRequest request;
  request.mutable_setup()->set_map(kTown);
  *request.mutable_scan() = ScanOf(drive, drive.IndexAt(round));
  return client::AlignScan(channel, request, kTimeout_s).status();
}

PointCloud RandomCloud(uint64_t seed) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  std::uniform_real_distribution<float> coordinate(-30.0F, 30.0F);
  PointCloud cloud;
  for (int i = 0; i < 2000; ++i) {
    cloud.PushBack(coordinate(random), coordinate(random), 0.1F * coordinate(random));
  }
  return cloud;
}

absl::Status CommitTile(const client::Channel& channel, const std::string& map,
                        const std::string& tile, uint64_t seed, uint64_t from_revision) {
  client::TransactionOptions options;
  options.begin.set_map(map);
  options.begin.set_create(true);
  options.begin.set_from_revision(from_revision);
  const auto transaction = client::MapTransaction::Begin(channel, options);
  if (!transaction.ok()) return transaction.status();
  if (seed > 0) {
    absl::Status status = (*transaction)->AddTile(tile, RandomCloud(seed));
    if (!status.ok()) return status;
  }
  return (*transaction)->Commit(v1::CommitUpdate()).status();
}

// Commits tiles of one map, and every fourth time goes back to the revision before the last.
absl::Status ChangeMap(const client::Channel& channel, uint64_t round) {
  const client::MapClient maps(channel);
  if (round % 4 != 3) {
    return CommitTile(channel, "changing", absl::StrCat("tile-", round % 5), round + 1, 0);
  }
  const auto map = maps.Get("changing", kTimeout_s);
  if (!map.ok()) return map.status();
  return CommitTile(channel, "changing", "", 0, map->revision() - 1);
}

// A map that is there for a moment.
absl::Status MakeAndDrop(const client::Channel& channel, uint64_t round) {
  const std::string map = absl::StrCat("passing-", round % 3);
  absl::Status status = CommitTile(channel, map, "tile", round + 1, 0);
  if (!status.ok()) return status;
  return client::MapClient(channel).Drop(map, 0, kTimeout_s).status();
}

absl::Status SearchOnce(const client::Channel& channel) {
  const auto found = client::EstimateInitialPose(
      channel, server::PriorRequest(40), [](const v1::SearchProgress&) { return true; },
      kTimeout_s);
  return found.status();
}

absl::Status ScoreOnce(const client::Channel& channel, const cli::LoadDrive& drive,
                       uint64_t round) {
  v1::ScoreSetup setup;
  setup.mutable_setup()->set_map(kTown);
  *setup.mutable_scan() = ScanOf(drive, drive.IndexAt(round));
  const auto scores = client::ScoreClient::Open(channel, setup, kTimeout_s);
  if (!scores.ok()) return scores.status();
  return (*scores)->Score(std::vector<Pose>(200, server::VehiclePose())).status();
}

absl::Status ExpectCode(absl::StatusCode expected, const absl::Status& status) {
  if (status.code() == expected) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("answered ", status.ToString(), " in place of ",
                                          absl::StatusCodeToString(expected)));
}

// What clients get wrong, one kind after the other.
absl::Status SendBadInput(const client::Channel& channel, const std::string& address,
                          const cli::LoadDrive& drive, uint64_t round) {
  v1::AlignScanRequest request;
  request.mutable_setup()->set_map(kTown);
  *request.mutable_scan() = ScanOf(drive, drive.IndexAt(round));
  switch (round % 4) {
    case 0:  // no such map
      request.mutable_setup()->set_map(absl::StrCat("no-map-", round));
      return ExpectCode(absl::StatusCode::kNotFound,
                        client::AlignScan(channel, request, kTimeout_s).status());
    case 1:  // half a point
      request.mutable_scan()->mutable_clouds(0)->mutable_cloud()->mutable_data()->pop_back();
      return ExpectCode(absl::StatusCode::kInvalidArgument,
                        client::AlignScan(channel, request, kTimeout_s).status());
    case 2: {  // a vehicle with a name of its own each time, whose series must not stay
      client::SessionOptions options;
      options.open.mutable_setup()->set_map("no-map");
      options.open.mutable_setup()->set_vehicle(absl::StrCat("vehicle-", round));
      return ExpectCode(absl::StatusCode::kNotFound,
                        client::LocalizationSession::Open(channel, options).status());
    }
    default: {  // not HTTP/2
      const RawConnection connection(address);
      if (!connection.connected()) return absl::UnavailableError("the server takes no connection");
      static_cast<void>(connection.Send("GET / HTTP/1.1\r\nHost: chaos\r\n\r\n"));
      if (connection.ClosedWithin(kTimeout_s)) return absl::OkStatus();
      return absl::InternalError("a connection that is not HTTP/2 stays open");
    }
  }
}

absl::Status Scrape(const std::string& metrics_address) {
  const std::string text = server::HttpGet(metrics_address, "/metrics");
  if (absl::StrContains(text, "voxloc_build_info")) return absl::OkStatus();
  return absl::InternalError("/metrics has no voxloc_build_info");
}

}  // namespace

MixedLoad::MixedLoad(const std::string& address, const std::string& metrics_address,
                     const cli::LoadDrive& drive) {
  const client::Channel channel = ChannelTo(address);
  for (int i = 0; i < 4; ++i) {
    const std::string vehicle = absl::StrCat("soak-", i);
    // A connection of its own for each session of the last one.
    Repeat("sessions", 0.2, [=, &drive](uint64_t round) {
      return DriveSession(i == 3 ? ChannelTo(address) : channel, drive, vehicle, round);
    });
  }
  Repeat("scans", 0.02, [=, &drive](uint64_t round) { return AlignOne(channel, drive, round); });
  Repeat("commits", 0.5, [=](uint64_t round) { return ChangeMap(channel, round); });
  Repeat("passing_maps", 1.0, [=](uint64_t round) { return MakeAndDrop(channel, round); });
  Repeat("searches", 2.0, [=](uint64_t /*round*/) { return SearchOnce(channel); });
  Repeat("scores", 0.5, [=, &drive](uint64_t round) { return ScoreOnce(channel, drive, round); });
  Repeat("bad_input", 0.1,
         [=, &drive](uint64_t round) { return SendBadInput(channel, address, drive, round); });
  Repeat("scrapes", 1.0, [=](uint64_t /*round*/) { return Scrape(metrics_address); });
}

MixedLoad::~MixedLoad() { static_cast<void>(Finish()); }

void MixedLoad::Repeat(const std::string& kind, double period_s,
                       std::function<absl::Status(uint64_t)> act) {
  threads_.emplace_back([this, kind, period_s, act = std::move(act)] {
    for (uint64_t round = 0; !stopping_; ++round) {
      const auto next = std::chrono::steady_clock::now() + std::chrono::duration<double>(period_s);
      const absl::Status status = act(round);
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        MixedCounts& counts = counts_[kind];
        ++counts.done;
        if (!status.ok()) ++counts.failed;
        if (!status.ok() && counts.first_failure.empty()) counts.first_failure = status.ToString();
      }
      while (!stopping_ && std::chrono::steady_clock::now() < next) {
        std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(
            std::chrono::duration<double>(kPoll_s), next - std::chrono::steady_clock::now()));
      }
    }
  });
}

std::map<std::string, MixedCounts> MixedLoad::Finish() {
  stopping_ = true;
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

}  // namespace voxloc::chaos
