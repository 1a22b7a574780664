// SPDX-License-Identifier: Apache-2.0
//
// ReturnModel: what a LiDAR measures of the surface that a ray meets. Returns are lost at random,
// by the surface and by the angle of incidence; ranges have noise, which grows with the range, and
// a bias; a beam that meets two surfaces at an edge measures a range between them.
//
// Plain options and a const object; any number of threads may use one.

#ifndef VOXLOC_CLIENTS_SIM_RETURN_MODEL_H_
#define VOXLOC_CLIENTS_SIM_RETURN_MODEL_H_

#include <optional>

#include "clients/sim/options.h"
#include "clients/sim/random.h"
#include "clients/sim/ray_caster.h"

namespace voxloc::sim {

struct ReturnOptions {
  double range_noise_m = 0.02;     // standard deviation along the ray at any range, [0, 1]
  double range_noise_per_m = 0.0;  // its part that grows with the range, m per m, [0, 0.1]
  double range_bias_m = 0.0;       // added to every range, [-1, 1]
  // The full width of a beam, [0, 2]. Half a beam beside its middle it meets a second surface;
  // where the two are 0.1 to 1.5 m apart in range, the range is anywhere between them. 0: rays.
  double beam_divergence_deg = 0.0;
  double dropout = 0.01;  // share of the returns that are lost on any surface, [0, 1]
  // Shares that are lost on some surfaces, [0, 1].
  double glass_dropout = 0.0;
  double dark_car_dropout = 0.0;
  // Shares that are lost at grazing incidence; less at steeper incidence a, by the power 4 of
  // 1 - cos(a) on any surface and 2 on wet ground and pavements. [0, 1].
  double incidence_dropout = 0.0;
  double wet_ground_dropout = 0.0;
};

[[nodiscard]] OptionRows ListOptions(const ReturnOptions& options);

class ReturnModel {
 public:
  // `options` must be valid.
  explicit ReturnModel(const ReturnOptions& options);

  // The range measured of `hit`, which `ray` meets, or nothing when the return is lost. Equal
  // chance gives equal results.
  [[nodiscard]] std::optional<double> Measure(const RayCaster& caster, const Ray& ray,
                                              const RayHit& hit, double max_range_m,
                                              Random random) const;

 private:
  [[nodiscard]] double LossChance(const RayCaster& caster, const Ray& ray, const RayHit& hit) const;
  // The range with a second surface that the beam's edge meets.
  [[nodiscard]] double MixedRange(const RayCaster& caster, const Ray& ray, const RayHit& hit,
                                  double max_range_m, Random& random) const;

  ReturnOptions options_;
  bool by_surface_;
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_RETURN_MODEL_H_
