// SPDX-License-Identifier: Apache-2.0
//
// Lidar: a LiDAR that spins, or that looks ahead over a part of the turn. A scan is a snapshot: all
// rays leave from one pose at one moment; or a sweep: the rays leave one azimuth step after another
// while the sensor moves. Sensor frame: x ahead, y left, z up.
//
// The noise and dropout of a ray depend only on the seed, the scan's number, the ring and the step.
// Const after construction; any number of threads may scan.

#ifndef VOXLOC_CLIENTS_SIM_LIDAR_H_
#define VOXLOC_CLIENTS_SIM_LIDAR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/sim/options.h"
#include "clients/sim/random.h"
#include "clients/sim/world.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc::sim {

// ReturnModel: what a LiDAR measures of the surface that a ray meets. Returns are lost at random,
// by the surface and by the angle of incidence; ranges have noise, which grows with the range, and
// a bias; a beam that meets two surfaces at an edge measures a range between them.
//
// Plain options and a const object; any number of threads may use one.
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
  ReturnOptions options_;
  bool by_surface_;
};

// The returns are those of ReturnOptions.
struct LidarOptions : ReturnOptions {
  uint64_t seed = 1;
  int rings = 32;                    // evenly spaced elevations, [1, 256]
  double min_elevation_deg = -25.0;  // lowest ring, [-90, 90]
  double max_elevation_deg = 15.0;   // highest ring, [min, 90]
  // Those of the rings, ascending, where they are not evenly spaced; otherwise empty.
  std::vector<double> elevations_deg;
  double field_of_view_deg = 360.0;  // around x, [1, 360]
  int azimuth_steps = 1800;          // over the field of view, [8, 36000]; rings * steps <= 2^21
  double min_range_m = 1.0;          // nearer surfaces give no return, [0, max]
  double max_range_m = 100.0;        // farther surfaces give no return, (0, 1000]
  bool keep_missing = false;         // missing returns as (0, 0, 0) instead of left out
};

[[nodiscard]] OptionRows ListOptions(const LidarOptions& options);
[[nodiscard]] absl::Status Validate(const LidarOptions& options);

// Sets the beams and the range to those of a common kind of LiDAR; the other options stay.
// InvalidArgument lists the names.
[[nodiscard]] absl::Status SetSensorPreset(absl::string_view name, LidarOptions& lidar);

// What a sensor's rays meet at one moment, and from where they leave.
struct SweepMoment {
  Pose world_T_sensor;
  const RayCaster* caster = nullptr;
};

struct Sweep {
  PointCloud cloud;           // each point in the sensor's frame at the moment of its ray
  std::vector<float> time_s;  // of each point's ray, since the first azimuth step
};

class Lidar {
 public:
  // `options` must be valid.
  explicit Lidar(const LidarOptions& options);

  // The scan with the given number, in the sensor frame, ordered by azimuth step, then ring from
  // the lowest. Each scan starts at an azimuth of its own, as free-running sensors do.
  [[nodiscard]] PointCloud Scan(const RayCaster& caster, const Pose& world_T_sensor,
                                uint64_t scan_number) const;

  // The same with step k leaving at k / azimuth_steps of `duration_s`. `at` gives the moment for a
  // time since the first step; what it points to must live until the scan is done.
  [[nodiscard]] Sweep ScanWhileMoving(const std::function<SweepMoment(double time_s)>& at,
                                      double duration_s, uint64_t scan_number) const;

  [[nodiscard]] const LidarOptions& options() const { return options_; }
  [[nodiscard]] int64_t rays_per_scan() const {
    return int64_t{options_.rings} * options_.azimuth_steps;
  }

 private:
  LidarOptions options_;
  ReturnModel returns_;
  std::vector<double> cos_elevation_;
  std::vector<double> sin_elevation_;
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_LIDAR_H_
