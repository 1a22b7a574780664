// SPDX-License-Identifier: Apache-2.0

#include "cuda/score/score_slice.h"

#include <algorithm>
#include <cstring>
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
      device_upload_(device),
      device_scores_(device),
      scores_(device),
      device_point_scores_(device),
      point_scores_(device) {}

absl::StatusOr<std::unique_ptr<ScoreSlice>> ScoreSlice::Create(std::shared_ptr<Device> device) {
  VOXLOC_TRY(device->MakeCurrent());
  std::unique_ptr<ScoreSlice> slice(new ScoreSlice(device));
  absl::StatusOr<Stream> stream = Stream::Create(std::move(device), Priority::kLow);
  if (!stream.ok()) return stream.status();
  slice->stream_ = *std::move(stream);
  return slice;
}

size_t ScoreSlice::PosesPerSlice(size_t points) {
  return std::clamp<size_t>(kPointsPerSlice / std::max<size_t>(1, points), 1, kMaxPosesPerSlice);
}

absl::Status ScoreSlice::Launch(const ScoreRequest& request, const StageTerms& terms,
                                const PackedScan& scan, size_t begin, size_t end) {
  VOXLOC_TRY(device_->MakeCurrent());
  request_ = &request;
  scan_ = &scan;
  largest_ = terms.largest;
  begin_ = begin;
  end_ = end;
  const size_t poses = end - begin;
  const size_t points_bytes = scan.floats.size() * sizeof(float);
  const size_t bytes = points_bytes + poses * sizeof(DevicePose);
  const size_t point_scores = request.want_point_scores ? poses * scan.points : 0;
  VOXLOC_TRY(upload_.Reserve(bytes));
  VOXLOC_TRY(device_upload_.Reserve(bytes));
  VOXLOC_TRY(device_scores_.Reserve(poses));
  VOXLOC_TRY(scores_.Reserve(poses * sizeof(DeviceScore)));
  if (point_scores > 0) {
    VOXLOC_TRY(device_point_scores_.Reserve(point_scores));
    VOXLOC_TRY(point_scores_.Reserve(point_scores * sizeof(float)));
  }

  std::memcpy(upload_.data(), scan.floats.data(), points_bytes);
  auto* device_poses = reinterpret_cast<DevicePose*>(upload_.data() + points_bytes);
  for (size_t i = 0; i < poses; ++i) {
    const Pose& pose = request.map_T_base[begin + i];
    const Eigen::Quaterniond rotation = pose.rotation.normalized();
    device_poses[i] = {{pose.translation.x(), pose.translation.y(), pose.translation.z()},
                       rotation.x(),
                       rotation.y(),
                       rotation.z(),
                       rotation.w()};
  }
  launched_ = true;
  cudaStream_t stream = stream_.get();
  VOXLOC_CUDA_TRY(
      *device_,
      cudaMemcpyAsync(device_upload_.data(), upload_.data(), bytes, cudaMemcpyHostToDevice, stream),
      "uploading poses");
  ScoreArguments arguments{};
  arguments.stage = terms;
  arguments.scan = {reinterpret_cast<const float*>(device_upload_.data()), scan.stride,
                    scan.points};
  arguments.poses = reinterpret_cast<const DevicePose*>(device_upload_.data() + points_bytes);
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
  if (!std::exchange(launched_, false)) return absl::OkStatus();
  VOXLOC_TRY(stream_.Synchronize());
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

}  // namespace voxloc::cuda
