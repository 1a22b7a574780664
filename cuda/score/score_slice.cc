// SPDX-License-Identifier: Apache-2.0

#include "cuda/score/score_slice.h"

#include <algorithm>
#include <utility>

#include "core/ndt/pose_score.h"

namespace voxloc::cuda {
namespace {

constexpr size_t kPointsPerSlice = size_t{1} << 25;
constexpr size_t kMaxPosesPerSlice = size_t{1} << 15;

}  // namespace

ScoreSlice::ScoreSlice(std::shared_ptr<Device> device)
    : device_(device),
      upload_(device),
      device_scores_(device),
      scores_(device),
      device_point_scores_(device),
      point_scores_(device) {}

absl::StatusOr<std::unique_ptr<ScoreSlice>> ScoreSlice::Create(std::shared_ptr<Device> device,
                                                               Priority priority) {
  VOXLOC_TRY(device->MakeCurrent());
  std::unique_ptr<ScoreSlice> slice(new ScoreSlice(device));
  VOXLOC_ASSIGN_OR_RETURN(slice->stream_, Stream::Create(std::move(device), priority));
  return slice;
}

size_t ScoreSlice::PosesPerSlice(size_t points) {
  return std::clamp<size_t>(kPointsPerSlice / std::max<size_t>(1, points), 1, kMaxPosesPerSlice);
}

absl::Status ScoreSlice::Launch(const ScoreRequest& request, const StageTerms& terms,
                                const PackedScan& scan, absl::Span<const float> points,
                                size_t begin, size_t end) {
  VOXLOC_TRY(device_->MakeCurrent());
  request_ = &request;
  scan_ = &scan;
  largest_ = terms.largest;
  begin_ = begin;
  end_ = end;
  const size_t poses = end - begin;
  const size_t point_scores = request.want_point_scores ? poses * scan.points : 0;
  VOXLOC_TRY(device_scores_.ReserveForUse(poses));
  VOXLOC_TRY(scores_.ReserveForUse(poses * sizeof(DeviceScore)));
  VOXLOC_TRY(device_point_scores_.ReserveForUse(point_scores));
  VOXLOC_TRY(point_scores_.ReserveForUse(point_scores * sizeof(float)));

  poses_.clear();
  for (size_t i = begin; i < end; ++i) {
    const Pose& pose = request.map_T_base[i];
    const Eigen::Quaterniond rotation = pose.rotation.normalized();
    poses_.push_back({{pose.translation.x(), pose.translation.y(), pose.translation.z()},
                      rotation.x(),
                      rotation.y(),
                      rotation.z(),
                      rotation.w()});
  }
  launched_ = true;
  cudaStream_t stream = stream_.get();
  ScoreArguments arguments{};
  arguments.stage = terms;
  arguments.scan = {0, scan.stride, scan.points, {}};
  upload_.Add(points, &arguments.points);
  upload_.Add(poses_, &arguments.poses);
  VOXLOC_TRY(upload_.Send(stream_));
  arguments.pose_count = static_cast<uint32_t>(poses);
  arguments.scores = device_scores_.data();
  arguments.point_scores = point_scores > 0 ? device_point_scores_.data() : nullptr;
  VOXLOC_TRY(LaunchScore(*device_, arguments, stream));
  VOXLOC_CUDA_TRY(*device_,
                  cudaMemcpyAsync(scores_.data(), device_scores_.data(),
                                  poses * sizeof(DeviceScore), cudaMemcpyDeviceToHost, stream),
                  "reading scores");
  if (point_scores > 0) {
    VOXLOC_CUDA_TRY(*device_,
                    cudaMemcpyAsync(point_scores_.data(), device_point_scores_.data(),
                                    point_scores * sizeof(float), cudaMemcpyDeviceToHost, stream),
                    "reading point scores");
  }
  return absl::OkStatus();
}

absl::Status ScoreSlice::Finish(ScoreResult& result) {
  if (!launched_) return absl::OkStatus();
  const absl::Status finished = stream_.Synchronize();
  launched_ = false;
  VOXLOC_TRY(finished);
  const size_t points = scan_->points;
  const size_t cloud_points = request_->scan->size();
  const auto* scores = reinterpret_cast<const DeviceScore*>(scores_.data());
  const auto* point_scores = reinterpret_cast<const float*>(point_scores_.data());
  for (size_t i = begin_; i < end_; ++i) {
    const DeviceScore& score = scores[i - begin_];
    result.poses[i] =
        ToPoseScore({largest_ * score.exponentials, largest_ * score.best,
                     static_cast<double>(score.matched_points), static_cast<double>(score.pairs)},
                    points);
    if (!request_->want_point_scores) continue;
    const float* from = point_scores + (i - begin_) * points;
    float* to = result.point_scores.data() + i * cloud_points;
    for (size_t k = 0; k < points; ++k) to[scan_->PlaceInCloud(k)] = from[k];
  }
  return absl::OkStatus();
}

void ScoreSlice::Settle() noexcept {
  if (std::exchange(launched_, false)) stream_.Drain();
}

}  // namespace voxloc::cuda
