// SPDX-License-Identifier: Apache-2.0

#include "core/engine/self_test/self_test.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

constexpr double kHalfYardM = 9.0;
constexpr double kNoiseM = 0.01;  // largest, of every coordinate
constexpr size_t kMapPoints = 24'000;
constexpr size_t kScanPoints = 1'200;
// Of the first guess, which is weighed: 0.1 m and 0.1 rad squared. It is 0.37 m and 0.03 rad off.
constexpr double kGuessVariance = 0.01;

// Numbers from 0 to 1 (SplitMix64).
class Sequence {
 public:
  explicit Sequence(uint64_t seed) : state_(seed) {}
  double Next() {
    state_ += 0x9e3779b97f4a7c15U;
    uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    z ^= z >> 31U;
    return static_cast<double>(z >> 11U) * 0x1p-53;
  }
  double Uniform(double low, double high) { return low + (high - low) * Next(); }

 private:
  uint64_t state_;
};

// An upright piece of wall on the ground.
struct Wall {
  double from_x, from_y, to_x, to_y, height_m;
};

constexpr Wall kWalls[] = {
    {-9.0, -9.0, 9.0, -8.2, 4.0}, {9.0, -8.2, 8.5, 9.0, 3.0},    {8.5, 9.0, -9.0, 8.0, 4.5},
    {-9.0, 8.0, -9.0, -9.0, 3.5}, {-4.0, 2.0, -1.0, 3.0, 2.5},   {-1.0, 3.0, -1.5, 5.0, 2.5},
    {3.0, -5.0, 5.0, -3.0, 1.5},  {5.0, -3.0, 6.5, -4.5, 1.5},   {-6.0, -4.0, -5.0, -6.0, 2.0},
    {4.0, 4.0, 4.0, 4.3, 5.0},    {-3.0, -3.0, -2.8, -3.0, 4.0},
};
constexpr size_t kSurfaces = 2 + sizeof(kWalls) / sizeof(kWalls[0]);

double GroundHeight(double x, double y) { return 0.03 * x - 0.02 * y + 0.004 * x * y; }

Eigen::Vector3d DrawPoint(Sequence& sequence) {
  // The ground counts for two surfaces.
  const auto surface = static_cast<size_t>(sequence.Next() * static_cast<double>(kSurfaces));
  Eigen::Vector3d point;
  if (surface < 2) {
    const double x = sequence.Uniform(-kHalfYardM, kHalfYardM);
    const double y = sequence.Uniform(-kHalfYardM, kHalfYardM);
    point = {x, y, GroundHeight(x, y)};
  } else {
    const Wall& wall = kWalls[surface - 2];
    const double along = sequence.Next();
    const double x = wall.from_x + along * (wall.to_x - wall.from_x);
    const double y = wall.from_y + along * (wall.to_y - wall.from_y);
    point = {x, y, GroundHeight(x, y) + sequence.Uniform(0.0, wall.height_m)};
  }
  for (int axis = 0; axis < 3; ++axis) point[axis] += sequence.Uniform(-kNoiseM, kNoiseM);
  return point;
}

PointCloud DrawCloud(uint64_t seed, size_t points, const Pose& frame_T_yard) {
  Sequence sequence(seed);
  PointCloud cloud;
  cloud.Reserve(points);
  for (size_t i = 0; i < points; ++i) {
    const Eigen::Vector3f point = (frame_T_yard * DrawPoint(sequence)).cast<float>();
    cloud.PushBack(point.x(), point.y(), point.z());
  }
  return cloud;
}

Pose MakePose(double x, double y, double z, double roll, double pitch, double yaw) {
  ChartVector chart;
  chart << x, y, z, roll, pitch, yaw;
  return PoseFromChart(chart);
}

constexpr const char* kAxes[] = {"x", "y", "z", "roll", "pitch", "yaw"};

std::string Text(const Eigen::Vector3d& v) {
  return absl::StrFormat("(%.6f, %.6f, %.6f)", v.x(), v.y(), v.z());
}

// The first thing found to differ.
class Comparison {
 public:
  // `what` prefixes every difference that is reported from here on.
  void Begin(std::string what) { what_ = std::move(what); }

  // Requires |value - reference| <= tolerance * scale. A value that is not finite is a difference.
  void CheckNear(absl::string_view quantity, double reference, double value, double tolerance,
                 double scale) {
    if (std::abs(value - reference) <= tolerance * scale) return;
    ReportDifference(absl::StrCat(quantity, " is ", value, ", the reference has ", reference,
                                  "; the tolerance is ", tolerance * scale));
  }
  template <typename Value>
  void CheckEqual(absl::string_view quantity, const Value& reference, const Value& value) {
    if (value == reference) return;
    ReportDifference(absl::StrCat(quantity, " is ", value, ", the reference has ", reference,
                                  "; they must be equal"));
  }
  void CheckPoseNear(const Pose& reference, const Pose& value) {
    const double distance_m = TranslationDistance(reference, value);
    if (!(distance_m <= kPositionToleranceM)) {
      ReportDifference(absl::StrFormat(
          "position is %s, the reference has %s, %.3g m away; the tolerance is %.3g m",
          Text(value.translation), Text(reference.translation), distance_m, kPositionToleranceM));
    }
    const double angle_deg = RotationDistance(reference, value) * kDegreesPerRadian;
    if (!(angle_deg <= kRotationToleranceDeg)) {
      ReportDifference(absl::StrFormat(
          "rotation is %s, the reference has %s, %.3g degrees away; the tolerance is %.3g degrees",
          Text(value.rotation.vec()), Text(reference.rotation.vec()), angle_deg,
          kRotationToleranceDeg));
    }
  }
  void ReportDifference(absl::string_view how) {
    if (status_.ok()) status_ = absl::InternalError(absl::StrCat(what_, ": ", how));
  }

  [[nodiscard]] bool same() const { return status_.ok(); }
  [[nodiscard]] const absl::Status& status() const { return status_; }

 private:
  std::string what_;
  absl::Status status_;
};

void CompareScores(absl::string_view when, const PoseScore& reference, const PoseScore& value,
                   double tolerance, Comparison& comparison) {
  const auto relative = [&](absl::string_view name, double expected, double found) {
    comparison.CheckNear(absl::StrCat(name, when), expected, found, tolerance, std::abs(expected));
  };
  relative("score", reference.score, value.score);
  relative("transform probability", reference.transform_probability, value.transform_probability);
  relative("nearest voxel likelihood", reference.nearest_voxel_likelihood,
           value.nearest_voxel_likelihood);
}

struct Derivatives {
  const ChartVector& gradient;
  const Matrix6& hessian;
};

void CompareDerivatives(absl::string_view when, double score, const Derivatives& reference,
                        const Derivatives& value, double tolerance, Comparison& comparison) {
  const ChartVector diagonal = reference.hessian.diagonal().cwiseAbs();
  for (int i = 0; i < 6; ++i) {
    comparison.CheckNear(absl::StrCat("gradient along ", kAxes[i], when), reference.gradient[i],
                         value.gradient[i], tolerance, std::sqrt(std::abs(score) * diagonal[i]));
    for (int j = 0; j < 6; ++j) {
      comparison.CheckNear(absl::StrCat("Hessian of ", kAxes[i], " and ", kAxes[j], when),
                           reference.hessian(i, j), value.hessian(i, j), tolerance,
                           std::sqrt(diagonal[i] * diagonal[j]));
    }
  }
}

void CompareResults(const AlignResult& reference, const AlignResult& value,
                    Comparison& comparison) {
  comparison.CheckEqual("status", reference.status.ToString(), value.status.ToString());
  if (!comparison.same()) return;
  CompareScores(" at the guess", reference.before, value.before, kScoreTolerance, comparison);
  if (reference.trace.empty() || value.trace.empty()) {
    comparison.ReportDifference("no trace of the search came back");
    return;
  }
  const IterationTrace& first = reference.trace.front();
  const IterationTrace& other = value.trace.front();
  CompareScores(" in the first iteration", first.score, other.score, kScoreTolerance, comparison);
  CompareDerivatives(" in the first iteration", first.score.score, {first.gradient, first.hessian},
                     {other.gradient, other.hessian}, kDerivativeTolerance, comparison);
  comparison.CheckEqual("iterations", reference.iterations, value.iterations);
  comparison.CheckEqual("termination", ToString(reference.termination),
                        ToString(value.termination));
  comparison.CheckPoseNear(reference.map_T_base, value.map_T_base);
  CompareScores(" at the end", reference.after, value.after, kEndpointTolerance, comparison);
  CompareDerivatives(" at the end", reference.trace.back().score.score,
                     {reference.gradient, reference.hessian}, {value.gradient, value.hessian},
                     kEndpointTolerance, comparison);
}

absl::StatusOr<std::shared_ptr<const ResidentMap>> BuildMap(
    Engine& engine, const PointCloud& cloud_map, const std::vector<CellStatistics>& statistics) {
  VOXLOC_ASSIGN_OR_RETURN(auto tile, engine.BuildTile(cloud_map, statistics));
  return engine.Compose({&tile, 1}, statistics, nullptr);
}

class SelfTest {
 public:
  SelfTest(Engine& reference, Engine& engine)
      : reference_(reference),
        engine_(engine),
        scene_(MakeSelfTestScene()),
        profiles_({AutowareProfile(), PreciseProfile()}),
        statistics_(RequiredStatistics(profiles_)) {}

  absl::Status Run() {
    VOXLOC_TRY(BuildMaps());
    VOXLOC_TRY(Align());
    return Score();
  }

 private:
  absl::Status BuildMaps() {
    auto reference = BuildMap(reference_, scene_.cloud_map, statistics_);
    if (!reference.ok()) return Failed("the reference builds no map", reference.status());
    auto built = BuildMap(engine_, scene_.cloud_map, statistics_);
    if (!built.ok()) return Failed("the map is not built", built.status());
    reference_map_ = *std::move(reference);
    map_ = *std::move(built);
    Comparison comparison;
    for (size_t i = 0; i < statistics_.size(); ++i) {
      comparison.Begin(absl::StrCat("map with ", ToString(statistics_[i])));
      comparison.CheckEqual("number of cells", reference_map_->cells(i), map_->cells(i));
    }
    return comparison.status();
  }

  // All searches as one batch, then each alone.
  absl::Status Align() {
    const std::vector<AlignJob> reference_jobs = Jobs(reference_map_);
    const std::vector<AlignJob> jobs = Jobs(map_);
    const std::vector<AlignResult> expected = reference_.Align(reference_jobs);
    std::vector<AlignResult> results = engine_.Align(jobs);
    for (const AlignJob& job : jobs) {
      std::vector<AlignResult> alone = engine_.Align({&job, 1});
      if (alone.size() == 1) results.push_back(std::move(alone.front()));
    }
    if (expected.size() != jobs.size() || results.size() != 2 * jobs.size()) {
      return absl::InternalError("align: not one result for every job");
    }
    Comparison comparison;
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t job = i % jobs.size();
      comparison.Begin(absl::StrCat("align, profile ", jobs[job].profile.name, ", guess ",
                                    job % scene_.guesses.size(),
                                    i < jobs.size() ? ", in a batch" : ", alone"));
      CompareResults(expected[job], results[i], comparison);
    }
    return comparison.status();
  }

  absl::Status Score() {
    Comparison comparison;
    for (const Profile& profile : profiles_) {
      ScoreRequest request;
      request.scan = scene_.scan;
      request.map_T_base = scene_.poses;
      request.stage = profile.stages[profile.score_stage];
      request.map = reference_map_;
      auto expected = reference_.Score(request);
      if (!expected.ok()) return Failed("the reference does not score", expected.status());
      request.map = map_;
      auto scored = engine_.Score(request);
      if (!scored.ok()) return Failed("score", scored.status());
      if (expected->poses.size() != scene_.poses.size() ||
          scored->poses.size() != scene_.poses.size()) {
        return absl::InternalError("score: not one score for every pose");
      }
      for (size_t i = 0; i < scene_.poses.size(); ++i) {
        comparison.Begin(absl::StrCat("score, profile ", profile.name, ", pose ", i));
        CompareScores("", expected->poses[i], scored->poses[i], kScoreTolerance, comparison);
      }
    }
    return comparison.status();
  }

  [[nodiscard]] std::vector<AlignJob> Jobs(const std::shared_ptr<const ResidentMap>& map) const {
    std::vector<AlignJob> jobs;
    for (const Profile& profile : profiles_) {
      for (const Pose& guess : scene_.guesses) {
        AlignJob job;
        job.map = map;
        job.scan = scene_.scan;
        job.map_T_base_guess = guess;
        job.profile = profile;
        if (jobs.size() % scene_.guesses.size() == 0) {
          job.prior_covariance = kGuessVariance * Matrix6::Identity();
        }
        job.with_trace = true;
        jobs.push_back(std::move(job));
      }
    }
    return jobs;
  }

  static absl::Status Failed(absl::string_view what, const absl::Status& status) {
    return absl::InternalError(absl::StrCat(what, ": ", status.ToString()));
  }

  Engine& reference_;
  Engine& engine_;
  const SelfTestScene scene_;
  const std::vector<Profile> profiles_;
  const std::vector<CellStatistics> statistics_;
  std::shared_ptr<const ResidentMap> reference_map_;
  std::shared_ptr<const ResidentMap> map_;
};

}  // namespace

SelfTestScene MakeSelfTestScene() {
  const Eigen::Vector3d origin_map(400'000.0, 4'000'000.0, 100.0);
  const Pose yard_T_base = MakePose(0.6, -0.4, 1.5, 0.02, -0.03, 0.7);
  SelfTestScene scene;
  scene.cloud_map = DrawCloud(1, kMapPoints, Pose());
  scene.cloud_map.origin = origin_map;
  scene.scan = std::make_shared<const PointCloud>(DrawCloud(2, kScanPoints, yard_T_base.Inverse()));
  scene.map_T_base = yard_T_base;
  scene.map_T_base.translation += origin_map;

  const auto displaced = [&scene](const Pose& by) {
    return Pose{scene.map_T_base.translation + by.translation,
                (by.rotation * scene.map_T_base.rotation).normalized()};
  };
  scene.guesses = {
      displaced(MakePose(0.3, -0.2, 0.1, 0.01, -0.01, 0.03)),
      displaced(MakePose(-0.4, 0.25, -0.1, -0.015, 0.01, -0.02)),
      displaced(MakePose(0.1, 0.35, 0.05, 0.0, 0.02, 0.04)),
  };
  scene.poses = scene.guesses;
  scene.poses.push_back(scene.map_T_base);
  scene.poses.push_back(displaced(MakePose(6.0, 5.0, 0.5, 0.1, 0.05, 1.0)));
  return scene;
}

absl::Status CheckAgreement(Engine& reference, Engine& engine) {
  return SelfTest(reference, engine).Run();
}

}  // namespace voxloc
