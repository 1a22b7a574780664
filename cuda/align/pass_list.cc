// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/pass_list.h"

#include "cuda/align/virtual_warps.h"

namespace voxloc::cuda {
namespace {

GroupSums ToGroupSums(const DeviceGroupSums& from) {
  const auto slot = [&from](int i) { return static_cast<double>(from.slot[i]); };
  GroupSums sums;
  sums.score = {slot(kExponentials), slot(kBest), slot(kMatched), slot(kPairs)};
  for (int i = 0; i < ndt::kGradientSize; ++i) sums.derivatives.gradient[i] = slot(kGradient + i);
  for (int i = 0; i < ndt::kHessianSize; ++i) sums.derivatives.hessian[i] = slot(kHessian + i);
  sums.derivatives.old_pitch = slot(kOldPitch);
  return sums;
}

}  // namespace

void PassList::Clear() {
  passes_.clear();
  places_.clear();
  ends_.clear();
  groups_ = 0;
}

void PassList::Add(const EvaluationPass& pass, uint32_t scan, absl::Span<const uint32_t> places,
                   uint32_t point_scores_begin) {
  DevicePass added{};
  added.scan = scan;
  added.places_begin = static_cast<uint32_t>(places_.size());
  added.ends_begin = static_cast<uint32_t>(ends_.size());
  added.sums_begin = groups_;
  added.point_scores_begin = point_scores_begin;
  added.score_stage = pass.score_stage;
  added.own_cell_only = pass.own_cell_only;
  added.with_point_scores = pass.with_point_scores;
  added.of_groups = pass.groups != nullptr;
  if (added.of_groups) {
    added.groups = static_cast<uint32_t>(pass.groups->ends.size());
    groups_ += added.groups;
    ends_.insert(ends_.end(), pass.groups->ends.begin(), pass.groups->ends.end());
    places_.insert(places_.end(), places.begin(), places.end());
  }
  passes_.push_back(added);
}

void PassList::AddTo(PackedUpload& upload, AlignArguments& arguments) {
  upload.Add(passes_, &arguments.passes);
  upload.Add(places_, &arguments.places);
  upload.Add(ends_, &arguments.ends);
  arguments.group_sums = sums_.device_data();
}

void PassList::Fill(uint32_t pass, const PackedScan& packed, size_t cloud_points,
                    const float* point_scores, PassResult& result) const {
  const DevicePass& from = passes_[pass];
  const DeviceGroupSums* const sums = sums_.data() + from.sums_begin;
  result.groups.reserve(from.groups);
  for (uint32_t g = 0; g < from.groups; ++g) result.groups.push_back(ToGroupSums(sums[g]));
  if (!from.with_point_scores) return;
  result.point_scores.assign(cloud_points, 0.0F);
  const float* scores = point_scores + from.point_scores_begin;
  if (!from.of_groups) {
    for (uint32_t k = 0; k < packed.points; ++k) {
      result.point_scores[packed.PlaceInCloud(k)] = scores[k];
    }
    return;
  }
  const uint32_t places = from.groups == 0 ? 0 : ends_[from.ends_begin + from.groups - 1];
  for (uint32_t i = from.places_begin; i < from.places_begin + places; ++i) {
    result.point_scores[packed.PlaceInCloud(places_[i])] = scores[places_[i]];
  }
}

}  // namespace voxloc::cuda
