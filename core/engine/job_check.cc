// SPDX-License-Identifier: Apache-2.0

#include "core/engine/job_check.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// Engines take points as float32 around the base. Beside an origin within this, the sum of a finite
// offset and the origin is finite too: the largest float32 has steps of 2e31.
constexpr double kMaxOrigin_m = 1e9;

absl::Status CheckCloud(const PointCloud& cloud, absl::string_view what) {
  VOXLOC_TRY(CheckColumns(cloud, what));
  if (cloud.size() > std::numeric_limits<uint32_t>::max()) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " has ", cloud.size(), " points"));
  }
  if (!(cloud.origin.cwiseAbs().array() <= kMaxOrigin_m).all()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, "'s origin must be within ", kMaxOrigin_m, " m along each axis (got (",
                     cloud.origin.x(), ", ", cloud.origin.y(), ", ", cloud.origin.z(), "))"));
  }
  return absl::OkStatus();
}

absl::Status CheckScan(const PointCloud* scan) {
  if (scan == nullptr || scan->empty()) return absl::InvalidArgumentError("the scan has no points");
  return CheckCloud(*scan, "the scan");
}

absl::Status CheckGroups(const PointGroups& groups, const PointCloud& cloud) {
  if (groups.ends.size() > kMaxPointGroups) {
    return absl::InvalidArgumentError(absl::StrCat("a pass has at most ", kMaxPointGroups,
                                                   " groups (got ", groups.ends.size(), ")"));
  }
  if (groups.places.size() > cloud.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("groups of ", groups.places.size(), " points in a cloud of ", cloud.size()));
  }
  const bool all =
      groups.ends.empty() ? groups.places.empty() : groups.ends.back() == groups.places.size();
  if (!all || !std::is_sorted(groups.ends.begin(), groups.ends.end())) {
    return absl::InvalidArgumentError("the ends of a pass's groups do not divide its points");
  }
  for (const uint32_t place : groups.places) {
    if (place >= cloud.size() || !cloud.IsFinite(place)) {
      return absl::InvalidArgumentError(absl::StrCat("a group names point ", place,
                                                     ", which its cloud of ", cloud.size(),
                                                     " points lacks or which is not finite"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPass(const EvaluationPass& pass, const PointCloud& scan) {
  const PointCloud& cloud = pass.cloud != nullptr ? *pass.cloud : scan;
  VOXLOC_TRY(CheckCloud(cloud, "a pass's cloud"));
  return pass.groups != nullptr ? CheckGroups(*pass.groups, cloud) : absl::OkStatus();
}

}  // namespace

absl::Status CheckColumns(const PointCloud& cloud, absl::string_view what) {
  const size_t points = cloud.size();
  if (cloud.y.size() == points && cloud.z.size() == points &&
      (!cloud.has_intensity() || cloud.intensity.size() == points)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      what, "'s columns x, y, z and intensity must have the same length (got ", points, ", ",
      cloud.y.size(), ", ", cloud.z.size(), " and ", cloud.intensity.size(), ")"));
}

absl::Status CheckLattice(const CellStatistics& statistics, bool has_lattice, bool has_float_sums) {
  if (!has_lattice) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tile was built without a lattice of ", statistics.cell_size_m, " m"));
  }
  if (statistics.float_index && !has_float_sums) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tile was built without a float32 index on its lattice of ",
                     statistics.cell_size_m, " m"));
  }
  return absl::OkStatus();
}

absl::Status CheckClouds(const AlignJob& job) {
  VOXLOC_TRY(CheckScan(job.scan.get()));
  if (job.passes.size() > kMaxPasses) {
    return absl::InvalidArgumentError(
        absl::StrCat("a job has at most ", kMaxPasses, " passes (got ", job.passes.size(), ")"));
  }
  for (const EvaluationPass& pass : job.passes) {
    VOXLOC_TRY(CheckPass(pass, *job.scan));
  }
  return absl::OkStatus();
}

absl::Status CheckGuess(const AlignJob& job) { return CheckPoses({&job.map_T_base_guess, 1}); }

absl::Status CheckInputs(const AlignJob& job) {
  VOXLOC_TRY(CheckClouds(job));
  return CheckGuess(job);
}

absl::Status CheckRequest(const ScoreRequest& request) {
  VOXLOC_TRY(CheckScan(request.scan.get()));
  const PointCloud& scan = *request.scan;
  size_t first_finite = 0;
  while (first_finite < scan.size() && !scan.IsFinite(first_finite)) ++first_finite;
  if (first_finite == scan.size()) return NoFinitePointError(scan);
  Profile of_one_stage;
  of_one_stage.stages = {request.stage};
  return ValidateProfile(of_one_stage);
}

absl::Status CheckPoses(absl::Span<const Pose> poses) {
  const bool finite = std::all_of(poses.begin(), poses.end(), [](const Pose& pose) {
    return pose.translation.allFinite() && pose.rotation.coeffs().allFinite();
  });
  if (finite) return absl::OkStatus();
  return absl::InvalidArgumentError("a pose has a component that is not finite");
}

absl::Status NoFinitePointError(const PointCloud& scan) {
  return absl::InvalidArgumentError(
      absl::StrCat("none of the scan's ", scan.size(), " points is finite"));
}

absl::Status CheckCells(const ResidentMap& map, absl::Span<const Stage> stages) {
  const std::vector<CellStatistics>& has = map.statistics();
  for (const Stage& stage : stages) {
    if (std::find(has.begin(), has.end(), stage.cells) != has.end()) continue;
    const auto append = [](std::string* out, const CellStatistics& s) { *out += ToString(s); };
    return absl::FailedPreconditionError(absl::StrCat(
        "the map has no ", ToString(stage.cells), "; it has ", absl::StrJoin(has, "; ", append)));
  }
  return absl::OkStatus();
}

absl::Status CheckStopped(const StopToken& stop, absl::string_view work) {
  if (stop.cancelled && stop.cancelled->load(std::memory_order_relaxed)) {
    return absl::CancelledError(absl::StrCat(work, " was cancelled"));
  }
  if (absl::Now() >= stop.deadline) {
    return absl::DeadlineExceededError(absl::StrCat("the deadline passed while ", work));
  }
  return absl::OkStatus();
}

}  // namespace voxloc
