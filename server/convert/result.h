// SPDX-License-Identifier: Apache-2.0
//
// Results on the wire. Thread-safe: no shared state.

#ifndef VOXLOC_SERVER_CONVERT_RESULT_H_
#define VOXLOC_SERVER_CONVERT_RESULT_H_

#include "core/cloud/filters.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/align.h"
#include "core/tracking/verdict.h"
#include "server/convert/scan_recipe.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::server {

[[nodiscard]] v1::AlignmentStatus StatusToProto(AlignmentStatus status);

void ScoresToProto(const PoseScore& scores, v1::Scores& proto);

void PointCountsToProto(const FilterCounts& counts, v1::PointCounts& proto);

void SettledByToProto(const SettledBy& settled_by, v1::AlignmentResult& proto);

// Pose, scores, counters, and what `output` asks for of them; not the verdict, nor what the engine
// does not know.
void AlignResultToProto(const AlignResult& result, const PointCloud& scan_base,
                        const OutputChoice& output, v1::AlignmentResult& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_RESULT_H_
