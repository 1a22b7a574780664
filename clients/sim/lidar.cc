// SPDX-License-Identifier: Apache-2.0

#include "clients/sim/lidar.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/sim/random.h"

namespace voxloc::sim {
namespace {

// Surfaces nearer to each other than the first are one, farther than the second give two pulses, of
// which the sensor takes the one from the beam's middle.
constexpr double kMinMixedGap_m = 0.1;
constexpr double kMaxMixedGap_m = 1.5;

constexpr int64_t kMaxRays = int64_t{1} << 21;

struct Preset {
  absl::string_view name;
  std::vector<double> elevations_deg;  // ascending
  double field_of_view_deg;
  int azimuth_steps;
  double min_range_m;
  double max_range_m;
};

// Evenly spaced elevations, from `first_deg` upwards.
std::vector<double> Even(double first_deg, double step_deg, int count) {
  std::vector<double> elevations_deg;
  for (int i = 0; i < count; ++i) elevations_deg.push_back(first_deg + i * step_deg);
  return elevations_deg;
}

std::vector<double> Concat(std::initializer_list<std::vector<double>> parts) {
  std::vector<double> all;
  for (const std::vector<double>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<Preset> Presets() {
  const std::vector<double> rings32 =
      Concat({{-25.0, -15.639, -11.31, -8.843, -7.254, -6.148, -5.333, -4.667},
              Even(-4.0, 1.0 / 3.0, 18),
              {2.333, 3.333, 4.667, 7.0, 10.333, 15.0}});
  const std::vector<double> rings64 = Concat({Even(-24.33, 0.5, 32), Even(-8.33, 1.0 / 3.0, 32)});
  const std::vector<double> rings128 =
      Concat({Even(-25.0, 0.5, 38), Even(-6.0, 0.125, 64), Even(2.0, 0.5, 26)});
  return {{"spinning-16", Even(-15.0, 2.0, 16), 360.0, 1800, 0.5, 100.0},
          {"spinning-32", rings32, 360.0, 1800, 0.5, 200.0},
          {"spinning-64", rings64, 360.0, 2048, 0.9, 120.0},
          {"spinning-128", rings128, 360.0, 1800, 0.5, 200.0},
          {"solid-state", Even(-15.0, 30.0 / 95.0, 96), 70.0, 350, 0.5, 150.0}};
}

double LossChance(const ReturnOptions& options, const RayCaster& caster, const Ray& ray,
                  const RayHit& hit) {
  const Eigen::Vector3d normal = caster.NormalAt(hit, ray.origin + hit.range_m * ray.direction);
  const double grazing = 1.0 - std::min(1.0, std::abs(ray.direction.dot(normal)));
  double kept = 1.0 - options.dropout;
  kept *= 1.0 - options.incidence_dropout * std::pow(grazing, 4);
  if (hit.label == Label::kGround || hit.label == Label::kPavement) {
    kept *= 1.0 - options.wet_ground_dropout * grazing * grazing;
  }
  const Material material = hit.solid == nullptr ? Material::kMatt : hit.solid->material;
  if (material == Material::kGlass) kept *= 1.0 - options.glass_dropout;
  if (material == Material::kDarkPaint) kept *= 1.0 - options.dark_car_dropout;
  return 1.0 - kept;
}

// The range with a second surface that the beam's edge meets.
double MixedRange(double beam_divergence_deg, const RayCaster& caster, const Ray& ray,
                  const RayHit& hit, double max_range_m, Random& random) {
  const double half_width_rad = 0.5 * beam_divergence_deg * M_PI / 180.0;
  const double around_rad = random.Uniform(0.0, 2.0 * M_PI);
  const double between = random.Uniform();
  const Eigen::Vector3d across = ray.direction.unitOrthogonal();
  const Eigen::Vector3d aside =
      std::cos(around_rad) * across + std::sin(around_rad) * ray.direction.cross(across);
  const Ray edge = {ray.origin, (ray.direction + std::tan(half_width_rad) * aside).normalized()};
  const double gap_m = caster.Cast(edge, max_range_m).range_m - hit.range_m;
  if (std::abs(gap_m) < kMinMixedGap_m || std::abs(gap_m) > kMaxMixedGap_m) return hit.range_m;
  return hit.range_m + between * gap_m;
}

}  // namespace

OptionRows ListOptions(const ReturnOptions& options) {
  return {{"range_noise_m", options.range_noise_m, "range noise", 0.0, 1.0},
          {"range_noise_per_m", options.range_noise_per_m, "range noise growth", 0.0, 0.1},
          {"range_bias_m", options.range_bias_m, "range bias", -1.0, 1.0},
          {"beam_divergence_deg", options.beam_divergence_deg, "beam divergence", 0.0, 2.0},
          {"dropout", options.dropout, "dropout", 0.0, 1.0},
          {"glass_dropout", options.glass_dropout, "glass dropout", 0.0, 1.0},
          {"dark_car_dropout", options.dark_car_dropout, "dark car dropout", 0.0, 1.0},
          {"wet_ground_dropout", options.wet_ground_dropout, "wet ground dropout", 0.0, 1.0},
          {"incidence_dropout", options.incidence_dropout, "incidence dropout", 0.0, 1.0}};
}

ReturnModel::ReturnModel(const ReturnOptions& options)
    : options_(options),
      by_surface_(options.glass_dropout > 0.0 || options.dark_car_dropout > 0.0 ||
                  options.incidence_dropout > 0.0 || options.wet_ground_dropout > 0.0) {}

std::optional<double> ReturnModel::Measure(const RayCaster& caster, const Ray& ray,
                                           const RayHit& hit, double max_range_m,
                                           Random random) const {
  const double loss = by_surface_ ? LossChance(options_, caster, ray, hit) : options_.dropout;
  if (random.Chance(loss)) return std::nullopt;
  double range_m = hit.range_m;
  if (options_.beam_divergence_deg > 0.0) {
    range_m = MixedRange(options_.beam_divergence_deg, caster, ray, hit, max_range_m, random);
  }
  double sigma_m = options_.range_noise_m;
  if (options_.range_noise_per_m > 0.0) {
    sigma_m = std::hypot(sigma_m, options_.range_noise_per_m * range_m);
  }
  range_m += options_.range_bias_m;
  return range_m + (sigma_m > 0.0 ? random.Normal(sigma_m) : 0.0);
}

OptionRows ListOptions(const LidarOptions& options) {
  OptionRows rows = {
      {"seed", options.seed},
      {"rings", options.rings, "rings", 1, 256},
      {"min_elevation_deg", options.min_elevation_deg, "minimum elevation", -90.0, 90.0},
      {"max_elevation_deg", options.max_elevation_deg, "maximum elevation",
       options.min_elevation_deg, 90.0},
      {"elevations_deg", options.elevations_deg, "elevation", -90.0, 90.0},
      {"field_of_view_deg", options.field_of_view_deg, "field of view", 1.0, 360.0},
      {"azimuth_steps", options.azimuth_steps, "azimuth steps", 8, 36000},
      {"min_range_m", options.min_range_m},  // at most the maximum, which is checked first
      {"max_range_m", options.max_range_m, "maximum range", 0.1, 1000.0}};
  const OptionRows returns = ListOptions(static_cast<const ReturnOptions&>(options));
  rows.insert(rows.end(), returns.begin(), returns.end());
  rows.push_back({"keep_missing", options.keep_missing});
  return rows;
}

absl::Status Validate(const LidarOptions& options) {
  absl::Status status = CheckRanges(ListOptions(options));
  status.Update(CheckRange("minimum range", options.min_range_m, 0.0, options.max_range_m));
  const size_t elevations = options.elevations_deg.size();
  if (elevations != 0 && elevations != static_cast<size_t>(options.rings)) {
    status.Update(absl::InvalidArgumentError(absl::StrCat(
        "elevations must be as many as rings, ", options.rings, " (got ", elevations, ")")));
  }
  if (status.ok() && int64_t{options.rings} * options.azimuth_steps > kMaxRays) {
    return absl::InvalidArgumentError(absl::StrCat("a scan must have at most ", kMaxRays,
                                                   " rays (got ", options.rings, " rings of ",
                                                   options.azimuth_steps, " steps)"));
  }
  return status;
}

Lidar::Lidar(const LidarOptions& options) : options_(options), returns_(options) {
  const double span_deg = options.max_elevation_deg - options.min_elevation_deg;
  for (int ring = 0; ring < options.rings; ++ring) {
    const double fraction = options.rings == 1 ? 0.5 : double(ring) / (options.rings - 1);
    const double elevation_deg = options.elevations_deg.empty()
                                     ? options.min_elevation_deg + fraction * span_deg
                                     : options.elevations_deg[static_cast<size_t>(ring)];
    const double elevation = elevation_deg * M_PI / 180.0;
    cos_elevation_.push_back(std::cos(elevation));
    sin_elevation_.push_back(std::sin(elevation));
  }
}

PointCloud Lidar::Scan(const RayCaster& caster, const Pose& world_T_sensor,
                       uint64_t scan_number) const {
  const SweepMoment moment = {world_T_sensor, &caster};
  return ScanWhileMoving([&moment](double) { return moment; }, 0.0, scan_number).cloud;
}

Sweep Lidar::ScanWhileMoving(const std::function<SweepMoment(double time_s)>& at, double duration_s,
                             uint64_t scan_number) const {
  Sweep sweep;
  sweep.cloud.Reserve(static_cast<size_t>(rays_per_scan()));
  sweep.time_s.reserve(static_cast<size_t>(rays_per_scan()));
  const bool whole_turn = options_.field_of_view_deg == 360.0;
  const double view_rad = whole_turn ? 2.0 * M_PI : options_.field_of_view_deg * M_PI / 180.0;
  const double from_rad = whole_turn ? 0.0 : -0.5 * view_rad;
  const double step_rad = view_rad / options_.azimuth_steps;
  const double phase_rad = Random(options_.seed, scan_number).Uniform() * step_rad;
  for (int step = 0; step < options_.azimuth_steps; ++step) {
    const double time_s = duration_s * step / options_.azimuth_steps;
    const SweepMoment moment = at(time_s);
    const Eigen::Matrix3d rotation = moment.world_T_sensor.rotation.toRotationMatrix();
    const double azimuth = from_rad + phase_rad + step * step_rad;
    const double cos_azimuth = std::cos(azimuth);
    const double sin_azimuth = std::sin(azimuth);
    for (size_t ring = 0; ring < cos_elevation_.size(); ++ring) {
      const Eigen::Vector3d direction(cos_azimuth * cos_elevation_[ring],
                                      sin_azimuth * cos_elevation_[ring], sin_elevation_[ring]);
      const Ray ray = {moment.world_T_sensor.translation, rotation * direction};
      const RayHit hit = moment.caster->Cast(ray, options_.max_range_m);
      std::optional<double> range_m;
      if (hit.range_m != kNoHit && hit.range_m >= options_.min_range_m) {
        range_m = returns_.Measure(
            *moment.caster, ray, hit, options_.max_range_m,
            Random(options_.seed, scan_number, static_cast<uint64_t>(step), ring + 1));
      }
      if (!range_m.has_value() && !options_.keep_missing) continue;
      const Eigen::Vector3f point = range_m.has_value()
                                        ? (*range_m * direction).cast<float>().eval()
                                        : Eigen::Vector3f::Zero().eval();
      sweep.cloud.PushBack(point.x(), point.y(), point.z());
      sweep.time_s.push_back(static_cast<float>(time_s));
    }
  }
  return sweep;
}

absl::Status SetSensorPreset(absl::string_view name, LidarOptions& lidar) {
  std::string names;
  for (const Preset& preset : Presets()) {
    if (preset.name == name) {
      lidar.elevations_deg = preset.elevations_deg;
      lidar.rings = static_cast<int>(lidar.elevations_deg.size());
      lidar.min_elevation_deg = lidar.elevations_deg.front();
      lidar.max_elevation_deg = lidar.elevations_deg.back();
      lidar.field_of_view_deg = preset.field_of_view_deg;
      lidar.azimuth_steps = preset.azimuth_steps;
      lidar.min_range_m = preset.min_range_m;
      lidar.max_range_m = preset.max_range_m;
      return absl::OkStatus();
    }
    absl::StrAppend(&names, names.empty() ? "" : ", ", preset.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("sensor must be one of ", names, " (got '", name, "')"));
}

}  // namespace voxloc::sim
