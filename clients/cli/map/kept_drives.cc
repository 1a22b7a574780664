// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/map/kept_drives.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cli/output/terminal.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/messages.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr int64_t kMaxGapNs = 60'000'000'000;
constexpr int64_t kMaxDriveNs = 10 * kMaxGapNs;

absl::StatusOr<UpdateScan> ScanFrom(const v1::Capture& capture) {
  const v1::Scan& message = capture.request().scan();
  if (message.clouds_size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("the scan ", capture.info().id(),
                                                   " must have one cloud (got ",
                                                   message.clouds_size(), ")"));
  }
  PointCloud points_sensor;
  VOXLOC_TRY(client::DecodePoints(message.clouds(0).cloud(), &points_sensor));
  VOXLOC_ASSIGN_OR_RETURN(const Pose base_T_sensor,
                          client::DecodePose(message.clouds(0).base_t_sensor()));
  UpdateScan scan;
  VOXLOC_ASSIGN_OR_RETURN(scan.map_T_base,
                          client::DecodePose(capture.result().map_t_base().pose()));
  scan.sensor_position_base = base_T_sensor.translation;
  scan.points_base = std::make_shared<const PointCloud>(Transform(base_T_sensor, points_sensor));
  return scan;
}

}  // namespace

std::vector<std::vector<v1::CaptureInfo>> DrivesOf(absl::Span<const v1::CaptureInfo> kept) {
  std::vector<v1::CaptureInfo> sorted(kept.begin(), kept.end());
  // A session's name is one of the server's, which begin anew with it: so do its ids.
  const auto owner = [](const v1::CaptureInfo& info) {
    const std::string& id = info.id();
    return std::make_pair(id.substr(0, id.rfind('-')), info.session());
  };
  std::sort(sorted.begin(), sorted.end(), [&](const v1::CaptureInfo& a, const v1::CaptureInfo& b) {
    return std::make_tuple(owner(a), a.captured_at_ns(), a.id()) <
           std::make_tuple(owner(b), b.captured_at_ns(), b.id());
  });
  std::vector<std::vector<v1::CaptureInfo>> drives;
  for (v1::CaptureInfo& info : sorted) {
    const bool goes_on =
        !drives.empty() && owner(drives.back().back()) == owner(info) &&
        info.captured_at_ns() - drives.back().back().captured_at_ns() < kMaxGapNs &&
        info.captured_at_ns() - drives.back().front().captured_at_ns() < kMaxDriveNs;
    if (!goes_on) drives.emplace_back();
    drives.back().push_back(std::move(info));
  }
  std::stable_sort(drives.begin(), drives.end(), [](const auto& a, const auto& b) {
    return a.front().captured_at_ns() < b.front().captured_at_ns();
  });
  return drives;
}

absl::Status AddKeptDrives(const ServerFlags& server, const std::string& map, RecordedDrives& all) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(server));
  v1::ListCapturesRequest request;
  request.set_map(map);
  request.set_purpose(v1::CAPTURE_PURPOSE_MAP_UPDATE);
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<v1::CaptureInfo> kept,
                          client::ListCaptures(channel, request, 0, server.timeout_s));
  if (kept.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        server.server, " has kept no scans of the map '", map,
        "'; it keeps those near changed tiles of accepted answers with a confidence of 0.5"));
  }
  if (all.scans.size() + kept.size() > kMaxProposalScans) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there must be at most ", kMaxProposalScans, " scans (got ", all.scans.size() + kept.size(),
        "); map_update.max_bytes of the server limits what it keeps"));
  }
  ProgressBar bar(absl::StrCat("fetching from ", server.server), "scans", kept.size());
  size_t fetched = 0;
  for (const std::vector<v1::CaptureInfo>& infos : DrivesOf(kept)) {
    RecordedDrive drive;
    drive.name = absl::StrCat(server.server, "/", infos.front().id());
    drive.vehicle = infos.front().vehicle();
    drive.start_ns = infos.front().captured_at_ns();
    for (const v1::CaptureInfo& info : infos) {
      const auto capture = client::GetCapture(channel, info.id(), server.timeout_s);
      bar.Update(++fetched);
      if (absl::IsNotFound(capture.status())) continue;
      if (!capture.ok()) return capture.status();
      VOXLOC_ASSIGN_OR_RETURN(UpdateScan scan, ScanFrom(*capture));
      scan.pass = all.drives.size();
      all.scans.push_back(std::move(scan));
      ++drive.scans;
    }
    if (drive.scans > 0) all.drives.push_back(std::move(drive));
  }
  return absl::OkStatus();
}

}  // namespace voxloc::cli
