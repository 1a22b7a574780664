// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/cuda_packed_job.h"

#include <algorithm>

#include "core/engine/job_check.h"
#include "core/engine/search_rules.h"

namespace voxloc::cuda {
namespace {

std::vector<double> PointVoxels(const Profile& profile) {
  std::vector<double> voxels_m;
  voxels_m.reserve(profile.stages.size());
  for (const Stage& stage : profile.stages) voxels_m.push_back(stage.point_voxel_m);
  return voxels_m;
}

}  // namespace

CudaPackedJob::CudaPackedJob(const AlignJob& job)
    : of_scan_(job.scan),
      point_voxels_m_(PointVoxels(job.profile)),
      needs_scan_scale_(NeedsScanScale(job.profile)) {}

std::shared_ptr<const CudaPackedJob> CudaPackedJob::Make(const AlignJob& job,
                                                         PageLockedPool& pool) {
  if (!CheckClouds(job).ok()) return nullptr;
  std::shared_ptr<CudaPackedJob> packed(new CudaPackedJob(job));
  packed->Fill(job, pool);
  if (packed->scan_.packed.points == 0) return nullptr;
  return packed;
}

void CudaPackedJob::Fill(const AlignJob& job, PageLockedPool& pool) {
  size_t floats = PackedFloats(job.scan->size());
  passes_.reserve(job.passes.size());
  for (const EvaluationPass& pass : job.passes) {
    passes_.push_back({pass, {}, floats, {}});
    if (pass.cloud != nullptr) floats += PackedFloats(pass.cloud->size());
  }
  floats_ = pool.Take(floats * sizeof(float));
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

const CudaPackedJob* CudaPackedJob::Of(const AlignJob& job) {
  const auto* packed = dynamic_cast<const CudaPackedJob*>(job.packed.get());
  return packed != nullptr && packed->IsOf(job) ? packed : nullptr;
}

bool CudaPackedJob::IsOf(const AlignJob& job) const {
  const auto same_voxel = [](double voxel_m, const Stage& stage) {
    return voxel_m == stage.point_voxel_m;
  };
  const auto same_clouds = [](const Pass& pass, const EvaluationPass& other) {
    return pass.of.cloud == other.cloud && pass.of.groups == other.groups;
  };
  const std::vector<Stage>& stages = job.profile.stages;
  return job.scan == of_scan_ &&
         std::equal(point_voxels_m_.begin(), point_voxels_m_.end(), stages.begin(), stages.end(),
                    same_voxel) &&
         NeedsScanScale(job.profile) == needs_scan_scale_ &&
         std::equal(passes_.begin(), passes_.end(), job.passes.begin(), job.passes.end(),
                    same_clouds);
}

absl::Span<const float> CudaPackedJob::scan_floats() const {
  return {FloatsFrom(0), PackedFloats(of_scan_->size())};
}

absl::Span<const float> CudaPackedJob::cloud_floats(size_t pass) const {
  return {FloatsFrom(passes_[pass].first_float), PackedFloats(passes_[pass].of.cloud->size())};
}

}  // namespace voxloc::cuda
