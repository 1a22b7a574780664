// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/scan_list.h"

#include <algorithm>
#include <utility>

#include "core/engine/job_check.h"
#include "cuda/align/launch_shape.h"

namespace voxloc::cuda {
namespace {

// In place of a program, for clouds that no stage searches with.
constexpr uint32_t kNoProgram = 0xffffffffU;

// Break-even of a gather launch (7 us) with a copy by the host at 10 GB/s (docs/performance.md,
// lower bounds).
constexpr size_t kMinGatherBytes = size_t{64} << 10;

// Floats that a piece of an upload takes with what pads it.
size_t PaddedFloats(size_t floats) {
  constexpr size_t kFloats = PackedUpload::kAlignment / sizeof(float);
  return (floats + kFloats - 1) / kFloats * kFloats;
}

}  // namespace

void ScanList::Clear() {
  packed_.clear();
  owned_.clear();
  on_device_.clear();
  rotation_scales_m_.clear();
  numbers_.Clear();
  borrowed_.clear();
  pieces_.clear();
  const size_t kept = points_retention_.NextCapacity(points_.size(), floats_, sizeof(float));
  if (kept < points_.size()) points_ = std::vector<float>(kept);
  floats_ = 0;
}

absl::StatusOr<uint32_t> ScanList::FindOrAddScan(const AlignJob& job, const CudaPackedJob* packed,
                                                 uint32_t program) {
  const Key key = {job.scan.get(), program};
  if (const uint32_t* const known = numbers_.Find(key)) return *known;
  if (packed != nullptr) {
    const uint32_t number = AddBorrowed(key, packed->scan().packed, packed->scan_floats(), *packed);
    SetStages(number, packed->scan());
    return number;
  }
  StagedScan staged = PackForStages(*job.scan, job.profile, chosen_, ReserveFloats(*job.scan));
  if (staged.packed.points == 0) return NoFinitePointError(*job.scan);
  const uint32_t number = AddOwned(key, std::move(staged.packed));
  SetStages(number, staged);
  return number;
}

uint32_t ScanList::FindOrAddCloud(const AlignJob& job, size_t pass, const CudaPackedJob* packed) {
  const PointCloud& cloud = *job.passes[pass].cloud;
  const Key key = {&cloud, kNoProgram};
  if (const uint32_t* const known = numbers_.Find(key)) return *known;
  if (packed != nullptr) {
    return AddBorrowed(key, packed->cloud(pass), packed->cloud_floats(pass), *packed);
  }
  return AddOwned(key, PackScan(cloud, ReserveFloats(cloud)));
}

float* ScanList::ReserveFloats(const PointCloud& cloud) {
  const size_t end = floats_ + PackedFloats(cloud.size());
  if (points_.size() < end) points_.resize(std::max(end, points_.size() + points_.size() / 2));
  return points_.data() + floats_;
}

uint32_t ScanList::AddOwned(const Key& key, PackedScan packed) {
  owned_.push_back(std::move(packed));
  const size_t first = floats_;
  floats_ += PackedFloats(key.cloud->size());
  return AssignNumber(key, owned_.back(), first);
}

uint32_t ScanList::AddBorrowed(const Key& key, const PackedScan& packed,
                               absl::Span<const float> floats, const CudaPackedJob& job) {
  const uint32_t number = AssignNumber(key, packed, 0);
  borrowed_.push_back({number, floats, job.page_locked()});
  return number;
}

uint32_t ScanList::AssignNumber(const Key& key, const PackedScan& packed, size_t first) {
  const auto number = static_cast<uint32_t>(packed_.size());
  DeviceScan on_device{};
  on_device.first = first;
  on_device.stride = packed.stride;
  on_device.points = packed.points;
  on_device_.push_back(on_device);
  packed_.push_back(&packed);
  rotation_scales_m_.push_back(0.0);
  numbers_.Insert(key, number);
  return number;
}

void ScanList::SetStages(uint32_t scan, const StagedScan& staged) {
  std::copy(staged.stage_points.begin(), staged.stage_points.end(), on_device_[scan].stage_points);
  rotation_scales_m_[scan] = staged.rotation_scale_m;
}

uint32_t ScanList::max_points() const {
  uint32_t most = 0;
  for (const PackedScan* packed : packed_) most = std::max(most, packed->points);
  return most;
}

void ScanList::AddTo(PackedUpload& upload, AlignArguments& arguments) {
  const bool gather = ShouldGather();
  const size_t begin = PaddedFloats(floats_);
  size_t end = begin;
  for (const BorrowedFloats& borrowed : borrowed_) {
    on_device_[borrowed.scan].first = end;
    if (gather) pieces_.push_back({borrowed.floats.data(), end - begin, borrowed.floats.size()});
    end += PaddedFloats(borrowed.floats.size());
  }
  upload.Add(on_device_, &arguments.scans);
  upload.Add(pieces_, &pieces_on_device_);
  upload.Add(absl::MakeConstSpan(points_.data(), floats_), &arguments.points);
  if (gather) {
    upload.AddUninitialized((end - begin) * sizeof(float), &gathered_);
    return;
  }
  for (const BorrowedFloats& borrowed : borrowed_) upload.Append(borrowed.floats);
}

absl::Status ScanList::QueueGather(Device& device, const Stream& stream) const {
  if (pieces_.empty()) return absl::OkStatus();
  return LaunchGather(device, pieces_on_device_, pieces_.size(), gathered_, stream.get());
}

bool ScanList::ShouldGather() const {
  size_t bytes = 0;
  for (const BorrowedFloats& borrowed : borrowed_) {
    if (!borrowed.page_locked) return false;
    bytes += borrowed.floats.size() * sizeof(float);
  }
  return bytes >= kMinGatherBytes;
}

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
