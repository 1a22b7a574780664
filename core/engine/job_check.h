// SPDX-License-Identifier: Apache-2.0
//
// Checks of a job before it starts, with the same error messages for all engines.

#ifndef VOXLOC_CORE_ENGINE_JOB_CHECK_H_
#define VOXLOC_CORE_ENGINE_JOB_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/engine/align.h"

namespace voxloc {

// InvalidArgument: the cloud's columns x, y and z differ in length, or its intensities are neither
// as many nor none. The message calls it `what`.
[[nodiscard]] absl::Status CheckColumns(const PointCloud& cloud, absl::string_view what);

// InvalidArgument: a tile without the lattice that a map of these cells needs.
[[nodiscard]] absl::Status CheckLattice(const CellStatistics& statistics, bool has_lattice,
                                        bool has_float_sums);

// InvalidArgument: no scan, or one without points; a scan or a pass's cloud that CheckColumns
// refuses, or whose origin is not within 1e9 m; a pass whose groups are too many or in disorder, or
// name a point that is not there or not finite. ResourceExhausted: more points than can be counted.
[[nodiscard]] absl::Status CheckClouds(const AlignJob& job);

// InvalidArgument: it is not finite.
[[nodiscard]] absl::Status CheckGuess(const AlignJob& job);

// CheckClouds and CheckGuess. Does not check profile and map.
[[nodiscard]] absl::Status CheckInputs(const AlignJob& job);

// InvalidArgument: as above, no point that is finite, a stage that ValidateProfile refuses. Does
// not check the poses, which engines do where they read them: 100,000 of them are 6 MB.
[[nodiscard]] absl::Status CheckRequest(const ScoreRequest& request);

// InvalidArgument: one of them is not finite.
[[nodiscard]] absl::Status CheckPoses(absl::Span<const Pose> poses);

// InvalidArgument: none of the scan's points is finite.
[[nodiscard]] absl::Status NoFinitePointError(const PointCloud& scan);

// FailedPrecondition: the map was not composed with the cells of a stage. The message lists those
// that it has.
[[nodiscard]] absl::Status CheckCells(const ResidentMap& map, absl::Span<const Stage> stages);

// Cancelled, DeadlineExceeded: the stop token is raised. The message names `work`, what the engine
// was doing: "scoring", "bounding".
[[nodiscard]] absl::Status CheckStopped(const StopToken& stop, absl::string_view work);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_JOB_CHECK_H_
