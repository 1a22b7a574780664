// SPDX-License-Identifier: Apache-2.0
#include "clients/sim/return_model.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

namespace voxloc::sim {
namespace {

// Surfaces nearer to each other than the first are one, farther than the second give two pulses, of
// which the sensor takes the one from the beam's middle.
constexpr double kMixedFrom_m = 0.1;
constexpr double kMixedTo_m = 1.5;

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
  const double loss = by_surface_ ? LossChance(caster, ray, hit) : options_.dropout;
  if (random.Chance(loss)) return std::nullopt;
  double range_m = hit.range_m;
  if (options_.beam_divergence_deg > 0.0) {
    range_m = MixedRange(caster, ray, hit, max_range_m, random);
  }
  double sigma_m = options_.range_noise_m;
  if (options_.range_noise_per_m > 0.0) {
    sigma_m = std::hypot(sigma_m, options_.range_noise_per_m * range_m);
  }
  range_m += options_.range_bias_m;
  return range_m + (sigma_m > 0.0 ? random.Normal(sigma_m) : 0.0);
}

double ReturnModel::LossChance(const RayCaster& caster, const Ray& ray, const RayHit& hit) const {
  const Eigen::Vector3d normal = caster.NormalAt(hit, ray.origin + hit.range_m * ray.direction);
  const double grazing = 1.0 - std::min(1.0, std::abs(ray.direction.dot(normal)));
  double kept = 1.0 - options_.dropout;
  kept *= 1.0 - options_.incidence_dropout * std::pow(grazing, 4);
  if (hit.label == Label::kGround || hit.label == Label::kPavement) {
    kept *= 1.0 - options_.wet_ground_dropout * grazing * grazing;
  }
  const Material material = hit.solid == nullptr ? Material::kMatt : hit.solid->material;
  if (material == Material::kGlass) kept *= 1.0 - options_.glass_dropout;
  if (material == Material::kDarkPaint) kept *= 1.0 - options_.dark_car_dropout;
  return 1.0 - kept;
}

double ReturnModel::MixedRange(const RayCaster& caster, const Ray& ray, const RayHit& hit,
                               double max_range_m, Random& random) const {
  const double half_width_rad = 0.5 * options_.beam_divergence_deg * M_PI / 180.0;
  const double around_rad = random.Uniform(0.0, 2.0 * M_PI);
  const double between = random.Uniform();
  const Eigen::Vector3d across = ray.direction.unitOrthogonal();
  const Eigen::Vector3d aside =
      std::cos(around_rad) * across + std::sin(around_rad) * ray.direction.cross(across);
  const Ray edge = {ray.origin, (ray.direction + std::tan(half_width_rad) * aside).normalized()};
  const double gap_m = caster.Cast(edge, max_range_m).range_m - hit.range_m;
  if (std::abs(gap_m) < kMixedFrom_m || std::abs(gap_m) > kMixedTo_m) return hit.range_m;
  return hit.range_m + between * gap_m;
}

}  // namespace voxloc::sim
