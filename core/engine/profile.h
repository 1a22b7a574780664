// SPDX-License-Identifier: Apache-2.0
//
// Profiles: how a scan is aligned, as a schedule of stages.
//
// The stages run one after another inside one call, each from where the last one ended. A stage
// names the cells it matches against and the rules of its search. Two profiles are built in, which
// core/engine/profiles/ describes:
//
// - `autoware`: one stage with the parameters of Autoware's ndt_scan_matcher, its peculiarities
//   included.
// - `precise`: coarse cells first, for a wide basin of convergence, then fine cells, for accuracy.
//
// Every peculiarity of the reference is one option below and can be switched off on its own.

#ifndef VOXLOC_CORE_ENGINE_PROFILE_H_
#define VOXLOC_CORE_ENGINE_PROFILE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/map/cells.h"

namespace voxloc {

// Which cells a point is matched with.
enum class NeighborSearch {
  kRadius,   // all whose index position is nearer than one cell size: exact, any number
  kDirect7,  // the point's own cell and the six that share a face with it
  kDirect1,  // the point's own cell
};

// What stands for the Hessian in the Newton step.
enum class Curvature {
  // The exact second derivatives: quadratic convergence near an optimum, and directions that may
  // point anywhere far from it.
  kExact,
  // Those of reweighted least squares, sum w J'BJ: negative definite everywhere, so every step
  // climbs, and a full step never overshoots the quadratic that bounds the score from below. Wide
  // basin, linear convergence, which core/ndt/step_acceleration.h shortens behind the score stage.
  kReweighted,
};

struct Stage {
  CellStatistics cells;
  NeighborSearch search = NeighborSearch::kRadius;
  // Searches with one point of each voxel of this edge of the scan, which is anchored at the base;
  // 0: with all points. 0, or 0.05 to 100 m. The voxels of a profile's stages nest: each edge is a
  // whole multiple of the smallest. Scores are of all points nevertheless.
  double point_voxel_m = 0.0;
  // Share of outliers in the score's mixture, in (0, 1).
  double outlier_ratio = 0.55;
  Curvature curvature = Curvature::kExact;
  // Longest step of one iteration, metres and radians mixed.
  double max_step = 0.1;
  // The stage ends with the first step shorter than this.
  double epsilon = 0.01;
  // Lengthens steps shorter than epsilon / 2 to epsilon / 2, as the reference does. The last step
  // then overshoots by up to epsilon / 2.
  bool step_floor = false;
  int max_iterations = 30;
  // Searches along each step as More and Thuente do; off, the step is clamped and taken.
  bool line_search = false;
  // The sign of the curvature along pitch: exact, or that of the reference's releases up to 1.9.0.
  bool exact_pitch_curvature = true;
  // Takes angles below 1e-4 rad for zero in derivatives.
  bool small_angle_shortcut = false;
  // Transforms points in float32 map coordinates, as the reference does, instead of around a local
  // origin. Costs millimetres at 1e5 m.
  bool float_transform = false;
  // Moves only along directions that the scan observes, leaving the rest of the pose at the guess:
  // those eigenvectors of the Hessian whose eigenvalue is over this share of the largest. 0: moves
  // along all. [0, 1). With kExact, whose eigenvalues pass zero on the way to an optimum, a
  // direction may look unobserved half a metre off; with kReweighted it does not.
  double observed_ratio = 0.0;
  // A radian counts as this many metres there. 0: the root mean square distance of the scan's
  // points from the base, so that a rotation counts by how far it moves them. 0, or 0.01 to 1e4.
  double rotation_scale_m = 0.0;
};

[[nodiscard]] bool operator==(const Stage& a, const Stage& b);

enum class ScoreKind { kTransformProbability, kNearestVoxelLikelihood };

// What a result must pass in addition to convergence and score: nothing, as in the reference, or
// also the checks of core/tracking/verdict.h.
enum class AcceptanceRule { kReference, kStrict };

struct Profile {
  std::string name;
  std::vector<Stage> stages;
  // The stage whose cells the scores before and after are computed with. Scores under the fine
  // cells of the last stage measure accuracy; under coarse cells they tell right from wrong poses.
  size_t score_stage = 0;
  // Whether each stage's result is checked by S, the sum over the points of the score of each
  // point's best pair, under the cells of the score stage. A stage before the score stage must
  // increase S. The score stage and those after it may decrease S by the ratio `allowed_loss`, in
  // [0, 1). Otherwise the stage is undone. A judged search also starts at the stage that the guess
  // requires (search_rules.h). If its result is farther from the guess than the reach of the score
  // stage's cells, it searches again near the guess (core/ndt/search_rules.h).
  bool judged = false;
  double allowed_loss = 0.0;
  // What a result must exceed to be accepted. Scores depend on cell size and statistics, so a
  // threshold belongs to its profile.
  ScoreKind acceptance_score = ScoreKind::kNearestVoxelLikelihood;
  double acceptance_threshold = 2.3;
  AcceptanceRule acceptance_rule = AcceptanceRule::kReference;
  // A scan whose farthest point is nearer to the base than this is not aligned, metres. 0: any is.
  // 0 to 1e9.
  double required_distance_m = 0.0;
  // Whether the covariance of a result is a constant, as by default in the reference, or estimated.
  bool fixed_covariance = false;
  // How many independent points a scan counts as, however many it has, where the covariance of its
  // guess is weighed against it: the search maximises score and prior together (maximum a
  // posteriori), so that the pose stays with the guess along what the scan does not observe
  // (core/ndt/guess_prior.h). 0: the covariance is not part of the cost. Otherwise every stage has
  // the reweighted curvature.
  double independent_points = 0.0;
  // With independent_points: a direction counts as not observed where its share of the curvature of
  // all, lengths and angles made comparable by the scan's extent, is well below this. (0, 1].
  double observed_share = 0.02;
  // Weight of a reference pose per point-cell pair, where a request brings one.
  double regularization_scale = 0.01;
  // Whether the transform probability includes the regularisation's score, as in the reference.
  bool score_includes_regularization = false;
};

[[nodiscard]] Profile AutowareProfile();
[[nodiscard]] Profile PreciseProfile();

// The profile, its stages moving only along the directions that a scan observes, with the
// reweighted curvature. Ratios that keep the guess on an open field and leave a town's accuracy as
// it is; along a corridor the soft stages still move.
[[nodiscard]] Profile AlongObservedDirections(Profile profile);

// The statistics that the stages of these profiles need, without repetition, in order of
// appearance.
[[nodiscard]] std::vector<CellStatistics> RequiredStatistics(const std::vector<Profile>& profiles);

// InvalidArgument names the stage, the field, its value and what is allowed.
[[nodiscard]] absl::Status ValidateProfile(const Profile& profile);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_PROFILE_H_
