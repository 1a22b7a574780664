// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/markers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "clients/cpp/messages.h"

namespace voxloc::ros {
namespace {

constexpr double kTwoPi = 6.283185307179586;
// Autoware's: the shares that scores, iterations and indices are of.
constexpr double kStepsOfTheScale = 15.0;
constexpr double kScoreOfTheScale = 4.5;
constexpr double kIterationsOfTheScale = 30.0;
constexpr double kParticlesOfTheScale = 100.0;
constexpr double kParticleLifetimeS = 10.0;
// Beyond the last iteration: one for the guess, and one to spare.
constexpr int64_t kSpareSteps = 2;

// Poses of answers are sound; one that is not is drawn at the origin.
Pose PoseOf(const v1::Pose& message) { return client::DecodePose(message).value_or(Pose()); }

}  // namespace

Color ColorOfShare(double share) {
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
        ColorOfShare(is_step ? static_cast<double>(markers.size() + 1) / kStepsOfTheScale : 0.0);
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
      {"transform_probability", particle.scores().nvtl() / kScoreOfTheScale},
      {"iteration", static_cast<double>(particle.iterations()) / kIterationsOfTheScale},
      {"index", static_cast<double>(particle.index()) / kParticlesOfTheScale},
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
      marker.color = ColorOfShare(scale.share);
      marker.lifetime_s = kParticleLifetimeS;
      markers.push_back(std::move(marker));
    }
  }
  return markers;
}

}  // namespace voxloc::ros
