// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/visualization.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/messages.h"
#include "core/status/try.h"

namespace voxloc::ros {
namespace {

constexpr double kTwoPi = 6.283185307179586;
// Autoware's values that map to the red end of the colour scale.
constexpr double kStepColorScale = 15.0;
constexpr double kScoreColorScale = 4.5;
constexpr double kIterationColorScale = 30.0;
constexpr double kParticleColorScale = 100.0;
constexpr double kParticleLifetimeS = 10.0;
// Beyond the last iteration: one for the guess, and one to spare.
constexpr int64_t kSpareSteps = 2;

// The server sends valid poses; an invalid one is drawn at the origin.
Pose PoseOf(const v1::Pose& message) { return client::DecodePose(message).value_or(Pose()); }

constexpr uint32_t kFloatBytes = 4;

PointCloud2 EmptyCloud(const Header& header, bool with_colors) {
  PointCloud2 cloud;
  cloud.header = header;
  for (const char* name : {"x", "y", "z", "rgb"}) {
    if (!with_colors && cloud.fields.size() == 3) break;
    cloud.fields.push_back({name, cloud.point_step, PointField::kFloat32, 1});
    cloud.point_step += kFloatBytes;
  }
  return cloud;
}

void PutXyz(const PointCloud& points, size_t i, uint8_t* out) {
  const Eigen::Vector3f xyz = points.Point(i).cast<float>();
  std::memcpy(out, xyz.data(), 3 * kFloatBytes);
}

}  // namespace

Color ColorOfRatio(double share) {
  const double x = std::clamp(share, 0.0, 0.9999);
  const auto wave = static_cast<float>(std::sin(kTwoPi * x));
  Color color;
  color.a = 0.999F;
  if (x <= 0.25) {
    color.g = wave;
    color.b = 1.0F;
  } else if (x <= 0.5) {
    color.g = 1.0F;
    color.b = wave;
  } else if (x <= 0.75) {
    color.r = -wave;
    color.g = 1.0F;
  } else {
    color.r = 1.0F;
    color.g = -wave;
  }
  return color;
}

std::vector<ArrowMarker> StepMarkers(const v1::AlignmentTrace& trace, const Pose& map_T_base_guess,
                                     const Header& header, int64_t max_iterations) {
  std::vector<ArrowMarker> markers;
  const auto add = [&markers, &header](const Pose& pose, bool is_step) {
    ArrowMarker marker;
    marker.header = header;
    marker.ns = "result_pose_matrix_array";
    marker.id = static_cast<int32_t>(markers.size());
    marker.pose = pose;
    marker.color =
        ColorOfRatio(is_step ? static_cast<double>(markers.size() + 1) / kStepColorScale : 0.0);
    markers.push_back(std::move(marker));
  };
  add(map_T_base_guess, true);
  for (const v1::TraceIteration& iteration : trace.iterations()) {
    add(PoseOf(iteration.map_t_base_after()), true);
  }
  while (static_cast<int64_t>(markers.size()) < max_iterations + kSpareSteps) add(Pose(), false);
  return markers;
}

std::vector<ArrowMarker> ParticleMarkers(const v1::SearchParticle& particle, const Header& header) {
  struct Scale {
    const char* name;
    double share;
  };
  const Scale scales[] = {
      {"transform_probability", particle.scores().nvtl() / kScoreColorScale},
      {"iteration", static_cast<double>(particle.iterations()) / kIterationColorScale},
      {"index", static_cast<double>(particle.index()) / kParticleColorScale},
  };
  struct End {
    const char* name;
    Pose pose;
  };
  const End ends[] = {{"initial_pose", PoseOf(particle.start_map_t_base())},
                      {"result_pose", PoseOf(particle.map_t_base())}};
  std::vector<ArrowMarker> markers;
  for (const End& end : ends) {
    for (const Scale& scale : scales) {
      ArrowMarker marker;
      marker.header = header;
      marker.ns = std::string(end.name) + "_" + scale.name + "_color_marker";
      marker.id = static_cast<int32_t>(particle.index());
      marker.pose = end.pose;
      marker.color = ColorOfRatio(scale.share);
      marker.lifetime_s = kParticleLifetimeS;
      markers.push_back(std::move(marker));
    }
  }
  return markers;
}

PointCloud2 XyzCloud(const Header& header, const PointCloud& cloud) {
  PointCloud2 message = EmptyCloud(header, false);
  message.width = static_cast<uint32_t>(cloud.size());
  message.data.resize(cloud.size() * message.point_step);
  for (size_t i = 0; i < cloud.size(); ++i) {
    PutXyz(cloud, i, message.data.data() + i * message.point_step);
  }
  return message;
}

absl::StatusOr<PointCloud2> XyzCloud(const Header& header, const v1::Cloud& cloud) {
  PointCloud points;
  VOXLOC_TRY(client::DecodePoints(cloud, &points));
  return XyzCloud(header, points);
}

absl::StatusOr<PointCloud2> ScoreCloud(const Header& header, const v1::Cloud& cloud,
                                       const v1::PointScores& scores) {
  PointCloud points;
  VOXLOC_TRY(client::DecodePoints(cloud, &points));
  const size_t count = points.size();
  if (static_cast<size_t>(scores.best_score_size()) != count || scores.rgb().size() != 3 * count) {
    return absl::InvalidArgumentError(
        absl::StrCat("point_scores must have ", count, " scores and ", 3 * count, " colours (got ",
                     scores.best_score_size(), " and ", scores.rgb().size(), ")"));
  }
  PointCloud2 message = EmptyCloud(header, true);
  message.data.resize(count * message.point_step);
  uint8_t* out = message.data.data();
  for (size_t i = 0; i < count; ++i) {
    if (scores.best_score(static_cast<int>(i)) <= 0.0F) continue;
    PutXyz(points, i, out);
    const char* rgb = scores.rgb().data() + 3 * i;
    // 0x00RRGGBB in little endian.
    const char color[kFloatBytes] = {rgb[2], rgb[1], rgb[0], 0};
    std::memcpy(out + 3 * kFloatBytes, color, sizeof(color));
    out += message.point_step;
  }
  message.data.resize(static_cast<size_t>(out - message.data.data()));
  message.width = static_cast<uint32_t>(message.data.size() / message.point_step);
  return message;
}

}  // namespace voxloc::ros
