// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/scan_list.h"

#include <algorithm>
#include <iterator>

#include "absl/types/span.h"
#include "core/engine/job_check.h"
#include "core/engine/search_rules.h"

namespace voxloc::cuda {
namespace {

// In place of a program, for clouds that no stage searches with.
constexpr uint32_t kNoProgram = 0xffffffffU;

}  // namespace

void ScanList::Clear() {
  packed_.clear();
  on_device_.clear();
  rotation_scales_m_.clear();
  numbers_.Clear();
  const size_t kept = points_retention_.Fit(points_.size(), floats_, sizeof(float));
  if (kept < points_.size()) points_ = std::vector<float>(kept);
  floats_ = 0;
}

absl::StatusOr<uint32_t> ScanList::ScanOf(const AlignJob& job, uint32_t program) {
  const PointCloud& cloud = *job.scan;
  const Key key = {&cloud, program};
  if (const uint32_t* const known = numbers_.Find(key)) return *known;
  DeviceScan on_device{};
  PackedScan packed = Pack(job, RoomFor(cloud), on_device);
  if (packed.points == 0) return NoFinitePoint(cloud);
  const uint32_t number = Keep(key, std::move(packed), on_device);
  if (HasThinnedStage(job.profile)) {
    rotation_scales_m_[number] = RotationScaleOf(stage_points_.root_mean_square_range());
  }
  return number;
}

uint32_t ScanList::CloudOf(const PointCloud& cloud) {
  const Key key = {&cloud, kNoProgram};
  if (const uint32_t* const known = numbers_.Find(key)) return *known;
  return Keep(key, PackScan(cloud, RoomFor(cloud)), DeviceScan{});
}

float* ScanList::RoomFor(const PointCloud& cloud) {
  const size_t end = floats_ + PackedFloats(cloud.size());
  if (points_.size() < end) points_.resize(std::max(end, points_.size() + points_.size() / 2));
  return points_.data() + floats_;
}

uint32_t ScanList::Keep(const Key& key, PackedScan packed, DeviceScan on_device) {
  on_device.first = floats_;
  on_device.stride = packed.stride;
  on_device.points = packed.points;
  floats_ += PackedFloats(key.cloud->size());
  const auto number = static_cast<uint32_t>(packed_.size());
  on_device_.push_back(on_device);
  packed_.push_back(std::move(packed));
  rotation_scales_m_.push_back(0.0);
  numbers_.Insert(key, number);
  return number;
}

PackedScan ScanList::Pack(const AlignJob& job, float* floats, DeviceScan& on_device) {
  if (!HasThinnedStage(job.profile)) {
    PackedScan packed = PackScan(*job.scan, floats);
    std::fill(std::begin(on_device.stage_points), std::end(on_device.stage_points), packed.points);
    return packed;
  }
  stage_points_.Choose(*job.scan, job.profile);
  std::copy(stage_points_.counts().begin(), stage_points_.counts().end(), on_device.stage_points);
  return PackScan(*job.scan, stage_points_.order(), floats);
}

double ScanList::RotationScaleFor(const AlignJob& job, uint32_t scan) {
  if (!NeedsScanScale(job.profile)) return 0.0;
  double& scale_m = rotation_scales_m_[scan];
  if (scale_m == 0.0) scale_m = RotationScaleOf(*job.scan);
  return scale_m;
}

uint32_t ScanList::most_points() const {
  uint32_t most = 0;
  for (const PackedScan& packed : packed_) most = std::max(most, packed.points);
  return most;
}

void ScanList::AddTo(PackedUpload& upload, AlignArguments& arguments) {
  upload.Add(on_device_, &arguments.scans);
  upload.Add(absl::MakeConstSpan(points_.data(), floats_), &arguments.points);
}

}  // namespace voxloc::cuda
