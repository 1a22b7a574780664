// SPDX-License-Identifier: Apache-2.0

#include "cuda/score/score_batch.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "core/engine/job_check.h"
#include "core/ndt/pose_score.h"

namespace voxloc::cuda {
namespace {

constexpr size_t kPointsPerSlice = size_t{1} << 25;
constexpr size_t kMaxPosesPerSlice = size_t{1} << 15;

// Poses of a scan of so many points that make a slice of about 2 ms.
size_t PosesPerSlice(size_t points) {
  return std::clamp<size_t>(kPointsPerSlice / std::max<size_t>(1, points), 1, kMaxPosesPerSlice);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ScoreBatch>> ScoreBatch::Create(
    const std::shared_ptr<Device>& device, Priority priority) {
  VOXLOC_TRY(device->MakeCurrent());
  std::unique_ptr<ScoreBatch> batch(new ScoreBatch(device));
  for (Slice& slice : batch->slices_) {
    VOXLOC_ASSIGN_OR_RETURN(slice.stream, Stream::Create(device, priority));
  }
  return batch;
}

absl::Status ScoreBatch::Run(const ScoreRequest& request, const StageTerms& terms,
                             ScoreResult& result) {
  VOXLOC_TRY(device_->MakeCurrent());
  const size_t floats = PackedFloats(request.scan->size());
  const size_t kept = points_retention_.NextCapacity(points_.size(), floats, sizeof(float));
  if (kept != points_.size()) points_ = std::vector<float>(kept);
  scan_ = PackScan(*request.scan, points_.data());

  const size_t poses = request.map_T_base.size();
  const size_t per_slice = PosesPerSlice(scan_.points);
  size_t turn = 0;
  for (size_t begin = 0; begin < poses; begin += per_slice, ++turn) {
    Slice& slice = slices_[turn % kSlices];
    VOXLOC_TRY(Finish(request, terms, slice, result));
    VOXLOC_TRY(CheckStopped(request.stop, "scoring"));
    slice.begin = begin;
    slice.end = std::min(poses, begin + per_slice);
    VOXLOC_TRY(Launch(request, terms, slice));
  }
  for (size_t i = 0; i < kSlices; ++i, ++turn) {
    VOXLOC_TRY(Finish(request, terms, slices_[turn % kSlices], result));
  }
  return absl::OkStatus();
}

absl::Status ScoreBatch::Launch(const ScoreRequest& request, const StageTerms& terms,
                                Slice& slice) {
  const size_t poses = slice.end - slice.begin;
  // By slices: the check brings the poses into the cache, for the packing, beside the kernel of the
  // slice before.
  VOXLOC_TRY(CheckPoses(absl::MakeConstSpan(request.map_T_base).subspan(slice.begin, poses)));
  const size_t point_scores = request.with_point_scores ? poses * scan_.points : 0;
  VOXLOC_TRY(slice.scores.ReserveForUse(poses));
  VOXLOC_TRY(slice.point_scores.ReserveForUse(point_scores));
  slice.poses.clear();
  for (size_t i = slice.begin; i < slice.end; ++i) {
    const Pose& pose = request.map_T_base[i];
    const Eigen::Quaterniond rotation = pose.rotation.normalized();
    slice.poses.push_back({{pose.translation.x(), pose.translation.y(), pose.translation.z()},
                           rotation.x(),
                           rotation.y(),
                           rotation.z(),
                           rotation.w()});
  }
  slice.launched = true;
  ScoreArguments arguments{};
  arguments.stage = terms;
  arguments.scan = {0, scan_.stride, scan_.points, {}};
  slice.upload.Add(absl::MakeConstSpan(points_.data(), PackedFloats(request.scan->size())),
                   &arguments.points);
  slice.upload.Add(slice.poses, &arguments.poses);
  VOXLOC_TRY(slice.upload.Send(slice.stream));
  arguments.pose_count = static_cast<uint32_t>(poses);
  arguments.scores = slice.scores.device_data();
  arguments.point_scores = point_scores > 0 ? slice.point_scores.device_data() : nullptr;
  VOXLOC_TRY(LaunchScore(*device_, arguments, slice.stream.get()));
  VOXLOC_TRY(slice.scores.Download(slice.stream, "reading scores"));
  return slice.point_scores.Download(slice.stream, "reading point scores");
}

absl::Status ScoreBatch::Finish(const ScoreRequest& request, const StageTerms& terms, Slice& slice,
                                ScoreResult& result) const {
  if (!slice.launched) return absl::OkStatus();
  const absl::Status finished = slice.stream.Synchronize();
  slice.launched = false;
  VOXLOC_TRY(finished);
  const size_t points = scan_.points;
  const DeviceScore* score = slice.scores.data();
  const float* from = slice.point_scores.data();
  for (size_t i = slice.begin; i < slice.end; ++i, ++score) {
    result.poses[i] =
        ToPoseScore({terms.max_pair_score * score->exponentials, terms.max_pair_score * score->best,
                     static_cast<double>(score->matched_points), static_cast<double>(score->pairs)},
                    points);
    if (!request.with_point_scores) continue;
    float* const to = result.point_scores.data() + i * request.scan->size();
    for (size_t k = 0; k < points; ++k) to[scan_.PlaceInCloud(k)] = from[k];
    from += points;
  }
  return absl::OkStatus();
}

void ScoreBatch::Drain() noexcept {
  for (Slice& slice : slices_) {
    if (std::exchange(slice.launched, false)) slice.stream.Drain();
  }
}

}  // namespace voxloc::cuda
