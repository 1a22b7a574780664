// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/placed_scans.h"

#include <algorithm>
#include <optional>

#include "core/map_update/joint_poses.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// Of recorded poses: which stage of the profile the search begins with.
constexpr double kGuessSigmaM = 0.3;
constexpr double kGuessSigmaRad = 0.01;
constexpr size_t kHeldOutEvery = 10;
constexpr size_t kScansABatch = 64;

}  // namespace

PlacedScans::PlacedScans(Engine& engine, const Profile& profile, const UpdateRequest& request)
    : engine_(engine),
      profile_(profile),
      request_(request),
      used_(request.scans.size(), true),
      motions_(request.scans.size()) {
  for (const UpdateScan& scan : request.scans) poses_.push_back(scan.map_T_base);
  aligned_ = poses_;
}

void PlacedScans::ForEachResult(absl::Span<const size_t> scans, const Map& map,
                                absl::FunctionRef<void(size_t, const AlignResult&)> visit) const {
  Vector6 sigma;
  sigma << Eigen::Vector3d::Constant(kGuessSigmaM), Eigen::Vector3d::Constant(kGuessSigmaRad);
  for (size_t begin = 0; begin < scans.size(); begin += kScansABatch) {
    const auto batch = scans.subspan(begin, kScansABatch);
    std::vector<AlignJob> jobs;
    for (const size_t scan : batch) {
      AlignJob& job = jobs.emplace_back();
      job.map = map;
      job.scan = request_.scans[scan].points_base;
      job.map_T_base_guess = poses_[scan];
      job.guess_covariance = sigma.cwiseAbs2().asDiagonal();
      job.profile = profile_;
      job.work_class = WorkClass::kMapping;
    }
    const std::vector<AlignResult> results = engine_.Align(jobs);
    for (size_t i = 0; i < batch.size(); ++i) visit(batch[i], results[i]);
  }
}

absl::Status PlacedScans::MeasureMotions(TiltPoints tilt_points) {
  for (const std::vector<size_t>& scans : UsedByPass()) {
    std::vector<ScanInPass> placed;
    for (const size_t scan : scans) {
      placed.push_back({request_.scans[scan].points_base, poses_[scan]});
    }
    VOXLOC_ASSIGN_OR_RETURN(const auto motions,
                            voxloc::MeasureMotions(engine_, profile_, placed, tilt_points));
    for (size_t i = 0; i + 1 < scans.size(); ++i) {
      if (motions[i].has_value()) motions_[scans[i]] = {scans[i + 1], *motions[i]};
    }
  }
  return absl::OkStatus();
}

const Pose* PlacedScans::MotionTo(size_t scan, size_t next) const {
  return motions_[scan].first == next ? &motions_[scan].second : nullptr;
}

void PlacedScans::Place(size_t scan, const Pose& map_T_base, bool used) {
  aligned_[scan] = poses_[scan] = map_T_base;
  used_[scan] = used;
}

void PlacedScans::Refine() {
  for (const std::vector<size_t>& scans : UsedByPass()) {
    std::vector<Pose> aligned;
    std::vector<std::optional<Pose>> motions;
    for (size_t i = 0; i < scans.size(); ++i) {
      aligned.push_back(aligned_[scans[i]]);
      const Pose* motion = i + 1 < scans.size() ? MotionTo(scans[i], scans[i + 1]) : nullptr;
      motions.push_back(motion == nullptr ? std::nullopt : std::optional<Pose>(*motion));
    }
    const std::vector<Pose> refined = RefineTogether(aligned, motions);
    for (size_t i = 0; i < scans.size(); ++i) poses_[scans[i]] = refined[i];
  }
}

std::vector<size_t> PlacedScans::Used() const {
  std::vector<size_t> scans;
  for (size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) scans.push_back(i);
  }
  return scans;
}

std::vector<std::vector<size_t>> PlacedScans::UsedByPass() const {
  std::vector<std::vector<size_t>> passes(request_.pass_start_ns.size());
  for (const size_t scan : Used()) passes[request_.scans[scan].pass].push_back(scan);
  return passes;
}

std::vector<size_t> PlacedScans::UsedAndHeldOut() const {
  std::vector<size_t> scans = Used();
  scans.erase(std::remove_if(scans.begin(), scans.end(), [](size_t i) { return !IsHeldOut(i); }),
              scans.end());
  return scans;
}

bool PlacedScans::IsHeldOut(size_t scan) { return scan % kHeldOutEvery == kHeldOutEvery / 2; }

Eigen::Vector3d PlacedScans::SensorOf(size_t scan) const {
  return poses_[scan] * request_.scans[scan].sensor_position_base;
}

std::vector<Eigen::Vector3d> PlacedScans::PointsOf(size_t scan) const {
  const PointCloud& cloud = *request_.scans[scan].points_base;
  const Eigen::Matrix3d turn = poses_[scan].rotation.toRotationMatrix();
  std::vector<Eigen::Vector3d> points;
  points.reserve(cloud.size());
  for (size_t i = 0; i < cloud.size(); ++i) {
    if (cloud.IsFinite(i)) points.push_back(turn * cloud.Point(i) + poses_[scan].translation);
  }
  return points;
}

std::vector<Eigen::Vector3d> PlacedScans::VotingPointsOf(size_t scan) const {
  std::vector<Eigen::Vector3d> points = PointsOf(scan);
  const Eigen::Vector3d sensor = SensorOf(scan);
  points.erase(std::remove_if(points.begin(), points.end(),
                              [&](const Eigen::Vector3d& point) {
                                return (point - sensor).norm() > kVoteRangeM;
                              }),
               points.end());
  return points;
}

PassDirections PlacedScans::DirectionsAt(const Eigen::Vector3d& place_map) const {
  PassDirections directions;
  Eigen::Vector2d reference = Eigen::Vector2d::Zero();
  for (const std::vector<size_t>& scans : UsedByPass()) {
    double least_m = kVoteRangeM;
    Eigen::Vector2d heading = Eigen::Vector2d::Zero();
    for (const size_t scan : scans) {
      const double distance_m = (SensorOf(scan) - place_map).head<2>().norm();
      if (distance_m > least_m) continue;
      least_m = distance_m;
      heading = (poses_[scan].rotation * Eigen::Vector3d::UnitX()).head<2>();
    }
    if (heading.isZero(0.0)) continue;
    if (reference.isZero(0.0)) reference = heading;
    const PassMask pass = PassMask{1} << request_.scans[scans.front()].pass;
    (heading.dot(reference) >= 0.0 ? directions.one : directions.other) |= pass;
  }
  return directions;
}

PassMask PlacedScans::Vote(absl::FunctionRef<bool(const Eigen::Vector3d&)> explained,
                           CubeVotes& votes) {
  const std::vector<size_t> scans = Used();
  for (const size_t scan : scans) {
    if (!IsHeldOut(scan)) votes.AddHits(request_.scans[scan].pass, VotingPointsOf(scan));
  }
  votes.Settle(explained);
  for (const size_t scan : scans) {
    if (IsHeldOut(scan)) continue;
    votes.AddRays(request_.scans[scan].pass, SensorOf(scan), PointsOf(scan), kVoteRangeM);
  }
  const PassMask disagreeing = FindDisagreeing(votes, request_.pass_start_ns.size());
  votes.Drop(disagreeing);
  for (const size_t scan : scans) {
    if ((disagreeing >> request_.scans[scan].pass & 1U) != 0) used_[scan] = false;
  }
  return disagreeing;
}

}  // namespace voxloc
