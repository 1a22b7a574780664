// SPDX-License-Identifier: Apache-2.0

#include "server/capture/map_update_recorder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/convert/scan.h"
#include "tests/server/maps/fake_map.h"
#include "tests/support/eventually.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

constexpr double kTrackingS = 100.0;  // of tracking, so that its share lets any scan through

MapTile TileAt(double x, uint8_t digest) {
  MapTile tile;
  tile.resident = std::make_shared<FakeTile>();
  tile.bounds.min = {x, 0.0, 0.0};
  tile.bounds.max = {x + 10.0, 10.0, 5.0};
  tile.bounds.finite_points = tile.points = 1;
  tile.digest.fill(digest);
  return tile;
}

// Two tiles 90 m apart.
std::shared_ptr<const MapSnapshot> Street(uint8_t east_digest = 2) {
  auto snapshot = std::make_shared<MapSnapshot>();
  snapshot->name = "street";
  snapshot->revision = 3;
  snapshot->resident = std::make_shared<FakeMap>();
  snapshot->tiles =
      TileCatalogue().With({{"west", TileAt(0.0, 1)}, {"east", TileAt(100.0, east_digest)}});
  return snapshot;
}

class MapUpdateRecorderTest : public ::testing::Test {
 protected:
  ~MapUpdateRecorderTest() override { recorder_.reset(); }

  void Start(const MapUpdateOptions& options) {
    recorder_.emplace("u1", fits_, options, metrics_);
    Config config;
    config.map_update = options;
    recorder_->Configure(config);
  }

  [[nodiscard]] MapUpdateOptions Options() const {
    MapUpdateOptions options;
    options.max_bytes = uint64_t{64} << 20U;
    options.directory = scratch_.Path("map_update");
    options.max_cpu_share = 1.0;
    return options;
  }

  // Scans that found 100 points where the tile has nothing.
  void ChangeTile(const std::string& id, uint8_t digest, double mismatched = 50.0) {
    TileObservation seen;
    seen.tile_id = id;
    seen.digest.fill(digest);
    seen.fit.scans = 1.0;
    seen.fit.points = seen.fit.raised_points = {100.0, mismatched};
    fits_.Add("street", {seen}, 1);
  }

  // Whether the scan was taken.
  bool Offer(double x, const std::string& session = "s-1", double tracking_s = kTrackingS) {
    bool made = false;
    const Eigen::Vector3d position(x, 5.0, 1.0);
    recorder_->Offer(session, street_, position, tracking_s, [&] {
      made = true;
      MapUpdateScan scan;
      scan.session = session;
      scan.vehicle = "bus-7";
      scan.profile = "precise";
      scan.map = street_;
      scan.stamp_ns = 42;
      scan.points_base = points_base_;
      scan.sensor_position_base = {0.5, 0.0, 2.0};
      scan.map_T_base.translation = position;
      return scan;
    });
    return made;
  }

  [[nodiscard]] std::vector<v1::CaptureInfo> Kept() const {
    const auto store = recorder_->store();
    if (!store.ok()) return {};
    return (*store)->List(
        {}, [](const auto&) { return true; }, 1000);
  }

  ScratchDir scratch_;
  const Metrics metrics_;
  TileFits fits_{100, Gauge()};
  std::shared_ptr<const MapSnapshot> street_ = Street();
  std::shared_ptr<const PointCloud> points_base_ = std::make_shared<const PointCloud>([] {
    PointCloud cloud;
    for (int i = 0; i < 20'000; ++i) {
      cloud.PushBack(0.25F * static_cast<float>(i % 150), 0.25F * static_cast<float>(i / 150),
                     1.0F);
    }
    return cloud;
  }());
  std::optional<MapUpdateRecorder> recorder_;
};

TEST_F(MapUpdateRecorderTest, KeepsScansNearATileThatHasChanged) {
  ChangeTile("east", 2);
  ChangeTile("west", 1, 1.0);
  Start(Options());
  ASSERT_TRUE(Eventually([&] { return Offer(85.0); }));
  EXPECT_FALSE(Offer(5.0));   // in a tile that has not
  EXPECT_FALSE(Offer(79.0));  // 21 m away
  ASSERT_TRUE(Eventually([&] { return Kept().size() == 1; }));
  const v1::CaptureInfo info = Kept()[0];
  EXPECT_EQ(info.purpose(), v1::CAPTURE_PURPOSE_MAP_UPDATE);
  EXPECT_EQ(info.map(), "street");
  EXPECT_EQ(info.map_revision(), 3U);
  EXPECT_EQ(info.session(), "s-1");
  EXPECT_EQ(info.vehicle(), "bus-7");
  recorder_->Stop();
  EXPECT_EQ(metrics_.map_update_captures.written.Value(), 1.0);
  EXPECT_EQ(metrics_.captures.written.Value(), 0.0);
  EXPECT_GT(metrics_.map_update_s.Value(), 0.0);
}

TEST_F(MapUpdateRecorderTest, WhatChangedInAnotherContentOfATileDoesNotCount) {
  ChangeTile("east", 2);
  ChangeTile("west", 1);
  street_ = Street(9);
  Start(Options());
  ASSERT_TRUE(Eventually([&] { return Offer(5.0); }));
  EXPECT_FALSE(Offer(105.0));
}

TEST_F(MapUpdateRecorderTest, AVehicleThatStandsGivesNoFurtherScan) {
  MapUpdateOptions options = Options();
  options.min_change = 0.0;
  Start(options);
  EXPECT_TRUE(Offer(50.0));
  EXPECT_FALSE(Offer(50.9));
  EXPECT_TRUE(Eventually([&] { return Offer(51.1); }));
  EXPECT_TRUE(Eventually([&] { return Offer(50.9, "s-2"); }));
}

TEST_F(MapUpdateRecorderTest, ScansTakeNoMoreThanTheirShareOfTheTimeOfTracking) {
  MapUpdateOptions options = Options();
  options.min_change = 0.0;
  options.max_cpu_share = 0.02;
  Start(options);
  double tracking_s = 0.0;
  double x = 0.0;
  double known_s = 0.0;
  for (int i = 0; i < 2000; ++i) {
    tracking_s += 0.01;
    x += 2.0;
    if (!Offer(x, "s-1", 0.01)) continue;
    // What it costs is known once it is written.
    const double spent_s = known_s;
    ASSERT_TRUE(Eventually([&] {
      known_s = metrics_.map_update_s.Value();
      return known_s > spent_s;
    }));
  }
  recorder_->Stop();
  EXPECT_GT(metrics_.map_update_captures.written.Value(), 0.0);
  EXPECT_LT(metrics_.map_update_captures.written.Value(), 2000.0);
  // The last one or two may be ahead of their share, a tenth of a second each with a sanitizer.
  const double longest_s = 0.2;
  EXPECT_LT(metrics_.map_update_s.Value(), 0.02 * tracking_s + longest_s);
}

TEST_F(MapUpdateRecorderTest, TheScanComesBackThinnedAndInTheFrameOfTheBase) {
  MapUpdateOptions options = Options();
  options.min_change = 0.0;
  Start(options);
  ASSERT_TRUE(Offer(50.0));
  ASSERT_TRUE(Eventually([&] { return Kept().size() == 1; }));
  const auto capture = (*recorder_->store())->Read(Kept()[0].id());
  ASSERT_TRUE(capture.ok()) << capture.status();
  EXPECT_LT(capture->info().bytes(), 100'000U);
  const v1::Scan& scan = capture->request().scan();
  EXPECT_EQ(scan.stamp_ns(), 42);
  EXPECT_EQ(capture->result().map_t_base().pose().position().x(), 50.0);
  EXPECT_TRUE(capture->result().accepted());
  ASSERT_EQ(scan.clouds_size(), 1);
  ASSERT_TRUE(CheckScanClouds(scan, 1'000'000).ok());
  const v1::Vector3& mount = scan.clouds(0).base_t_sensor().position();
  EXPECT_EQ(mount.x(), 0.5);
  EXPECT_EQ(mount.z(), 2.0);
  const PointCloud sensor = DecodeScan(scan.clouds(0).cloud()).cloud;
  EXPECT_EQ(sensor.size(), 8192U);
  for (size_t i = 0; i < sensor.size(); ++i) {
    const Eigen::Vector3d base = sensor.Point(i) + Eigen::Vector3d(mount.x(), mount.y(), mount.z());
    EXPECT_LE(sensor.Point(i).norm(), 40.0);
    // One of the points on the grid that were offered.
    EXPECT_EQ(4.0 * base.x(), std::round(4.0 * base.x()));
    EXPECT_EQ(base.z(), 1.0);
  }
}

TEST_F(MapUpdateRecorderTest, IsOffByDefault) {
  ChangeTile("east", 2);
  MapUpdateOptions options = Options();
  options.max_bytes = 0;
  options.min_change = 0.0;
  Start(options);
  EXPECT_FALSE(Offer(105.0));
  EXPECT_EQ(recorder_->store().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(std::filesystem::exists(options.directory));
}

}  // namespace
}  // namespace voxloc::server
