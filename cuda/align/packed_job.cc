// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/packed_job.h"

#include <algorithm>
#include <cmath>

#include "core/engine/job_check.h"
#include "core/engine/search_rules.h"
#include "cuda/align/launch_shape.h"

namespace voxloc::cuda {
namespace {

size_t StrideOf(size_t points) {
  return (points + kPointsPerChunk - 1) / kPointsPerChunk * kPointsPerChunk;
}

// Adds the offset to a column of coordinates. Returns whether all results are finite.
bool MoveColumn(const std::vector<float>& from, float offset, float* to) {
  const size_t n = from.size();
  const float* const column = from.data();
  uint32_t not_finite = 0;
  for (size_t i = 0; i < n; ++i) {
    const float moved = column[i] + offset;
    to[i] = moved;
    // 0 * v is NaN for a v that is not finite.
    not_finite |= moved * 0.0F == 0.0F ? 0U : 1U;
  }
  return not_finite == 0;
}

}  // namespace

size_t PackedFloats(size_t cloud_points) { return 3 * StrideOf(cloud_points); }

PackedScan PackScan(const PointCloud& cloud, float* floats) {
  const size_t n = cloud.size();
  PackedScan packed;
  packed.stride = static_cast<uint32_t>(StrideOf(n));
  float* const x = floats;
  float* const y = x + packed.stride;
  float* const z = y + packed.stride;
  const Eigen::Vector3f origin = cloud.origin.cast<float>();
  const bool finite_x = MoveColumn(cloud.x, origin.x(), x);
  const bool finite_y = MoveColumn(cloud.y, origin.y(), y);
  const bool finite_z = MoveColumn(cloud.z, origin.z(), z);
  packed.points = static_cast<uint32_t>(n);
  if (finite_x && finite_y && finite_z) return packed;
  packed.points = 0;
  packed.sources.reserve(n);
  for (uint32_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i]) || !std::isfinite(z[i])) continue;
    const uint32_t to = packed.points++;
    x[to] = x[i];
    y[to] = y[i];
    z[to] = z[i];
    packed.sources.push_back(i);
  }
  return packed;
}

PackedScan PackScan(const PointCloud& cloud, absl::Span<const uint32_t> places, float* floats) {
  PackedScan packed;
  packed.points = static_cast<uint32_t>(places.size());
  packed.stride = static_cast<uint32_t>(StrideOf(cloud.size()));
  float* const x = floats;
  float* const y = x + packed.stride;
  float* const z = y + packed.stride;
  const Eigen::Vector3f origin = cloud.origin.cast<float>();
  for (size_t i = 0; i < places.size(); ++i) {
    const uint32_t place = places[i];
    x[i] = cloud.x[place] + origin.x();
    y[i] = cloud.y[place] + origin.y();
    z[i] = cloud.z[place] + origin.z();
  }
  packed.sources.assign(places.begin(), places.end());
  return packed;
}

StagedScan PackForStages(const PointCloud& scan_base, const Profile& profile, StagePoints& chosen,
                         float* floats) {
  StagedScan staged;
  const bool needs_scale = NeedsScanScale(profile);
  if (HasThinnedStage(profile)) {
    chosen.Select(scan_base, profile);
    staged.packed = PackScan(scan_base, chosen.order(), floats);
    staged.stage_points = chosen.counts();
    if (needs_scale) staged.rotation_scale_m = RotationScaleOf(chosen.root_mean_square_range());
    return staged;
  }
  staged.packed = PackScan(scan_base, floats);
  staged.stage_points.fill(staged.packed.points);
  if (needs_scale) staged.rotation_scale_m = RotationScaleOf(scan_base);
  return staged;
}

std::vector<uint32_t> PlacesOf(const EvaluationPass& pass, const PackedScan& packed) {
  if (pass.groups == nullptr) return {};
  const PointGroups& groups = *pass.groups;
  if (packed.sources.empty()) return groups.places;
  const uint32_t last = *std::max_element(packed.sources.begin(), packed.sources.end());
  std::vector<uint32_t> packed_at(size_t{last} + 1);
  for (uint32_t k = 0; k < packed.points; ++k) packed_at[packed.sources[k]] = k;
  std::vector<uint32_t> places(groups.places.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = packed_at[groups.places[i]];
  return places;
}

namespace {

std::vector<double> PointVoxels(const Profile& profile) {
  std::vector<double> voxels_m;
  voxels_m.reserve(profile.stages.size());
  for (const Stage& stage : profile.stages) voxels_m.push_back(stage.point_voxel_m);
  return voxels_m;
}

}  // namespace

std::shared_ptr<const CudaPackedJob> CudaPackedJob::Make(const AlignJob& job,
                                                         PageLockedPool& pool) {
  if (!CheckClouds(job).ok()) return nullptr;
  std::shared_ptr<const CudaPackedJob> packed(new CudaPackedJob(job, pool));
  return packed->scan_.packed.points == 0 ? nullptr : packed;
}

CudaPackedJob::CudaPackedJob(const AlignJob& job, PageLockedPool& pool)
    : source_scan_(job.scan),
      point_voxels_m_(PointVoxels(job.profile)),
      needs_scan_scale_(NeedsScanScale(job.profile)) {
  size_t floats = PackedFloats(job.scan->size());
  passes_.reserve(job.passes.size());
  for (const EvaluationPass& pass : job.passes) {
    passes_.push_back({pass, {}, floats, {}});
    if (pass.cloud != nullptr) floats += PackedFloats(pass.cloud->size());
  }
  floats_ = pool.Acquire(floats * sizeof(float));
  StagePoints chosen;
  scan_ = PackForStages(*job.scan, job.profile, chosen, FloatsFrom(0));
  if (scan_.packed.points == 0) return;
  for (Pass& pass : passes_) {
    if (pass.of.cloud != nullptr) {
      pass.cloud = PackScan(*pass.of.cloud, FloatsFrom(pass.first_float));
    }
    pass.places = PlacesOf(pass.of, pass.of.cloud != nullptr ? pass.cloud : scan_.packed);
  }
}

const CudaPackedJob* CudaPackedJob::FromJob(const AlignJob& job) {
  const auto* packed = dynamic_cast<const CudaPackedJob*>(job.packed.get());
  return packed != nullptr && packed->Matches(job) ? packed : nullptr;
}

bool CudaPackedJob::Matches(const AlignJob& job) const {
  const auto same_voxel = [](double voxel_m, const Stage& stage) {
    return voxel_m == stage.point_voxel_m;
  };
  const auto same_clouds = [](const Pass& pass, const EvaluationPass& other) {
    return pass.of.cloud == other.cloud && pass.of.groups == other.groups;
  };
  const std::vector<Stage>& stages = job.profile.stages;
  return job.scan == source_scan_ &&
         std::equal(point_voxels_m_.begin(), point_voxels_m_.end(), stages.begin(), stages.end(),
                    same_voxel) &&
         NeedsScanScale(job.profile) == needs_scan_scale_ &&
         std::equal(passes_.begin(), passes_.end(), job.passes.begin(), job.passes.end(),
                    same_clouds);
}

absl::Span<const float> CudaPackedJob::scan_floats() const {
  return {FloatsFrom(0), PackedFloats(source_scan_->size())};
}

absl::Span<const float> CudaPackedJob::cloud_floats(size_t pass) const {
  return {FloatsFrom(passes_[pass].first_float), PackedFloats(passes_[pass].of.cloud->size())};
}

}  // namespace voxloc::cuda
