// SPDX-License-Identifier: Apache-2.0
//
// What the scans show otherwise than the map: moving objects, and the changes and the drift of a
// map that is old or was made while driving.

#ifndef VOXLOC_CLIENTS_SIM_MAP_CHANGES_H_
#define VOXLOC_CLIENTS_SIM_MAP_CHANGES_H_

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "clients/sim/options.h"
#include "clients/sim/world.h"
#include "core/cloud/point_cloud.h"
#include "core/parallel/thread_pool.h"

namespace voxloc::sim {

// Map age: the world at the time of an old map. Other cars were parked, some structures were
// missing, and some walls and structures were displaced a little.
struct MapAgeOptions {
  uint64_t seed = 1;
  // Share of the parking places that differ, [0, 1]. In the old map half of the now occupied ones
  // are free and half have another car; half of the now free ones are occupied.
  double changed_parking = 0.0;
  double missing_structures = 0.0;  // share of the structures that were not there, [0, 1]
  double moved_structures = 0.0;    // share of the structures and walls that moved since, [0, 1]
  double moved_by_m = 0.3;          // to either side along their frame's y, [0.05, 2]

  [[nodiscard]] bool IsUnchanged() const {
    return changed_parking == 0.0 && missing_structures == 0.0 && moved_structures == 0.0;
  }
};

[[nodiscard]] OptionRows ListOptions(const MapAgeOptions& options);

struct MapAgeCounts {
  size_t changed_places = 0;
  size_t missing_structures = 0;
  size_t moved_structures = 0;
};

struct AgedWorld {
  World world;
  MapAgeCounts counts;
};

[[nodiscard]] AgedWorld MakeAgedWorld(const World& world, const MapAgeOptions& options);

// MapDrift: the smooth error of a map that was made while driving: a displacement of the map's
// points that varies over tens of metres. Along each axis it is a sum of a few sinusoids with
// random directions and phases.
//
// The truth at a place in a drifted map is defined up to this displacement only. Const after
// construction; any number of threads may use one.
struct MapDriftOptions {
  uint64_t seed = 1;
  double sigma_m = 0.0;        // standard deviation along each axis, over places and seeds, [0, 1]
  double wavelength_m = 60.0;  // the sinusoids' are from 0.7 to 1.5 times this, [20, 1000]
};

[[nodiscard]] OptionRows ListOptions(const MapDriftOptions& options);

class MapDrift {
 public:
  explicit MapDrift(const MapDriftOptions& options);

  // By how much the map is displaced at a place in the world.
  [[nodiscard]] Eigen::Vector3d DisplacementAt(const Eigen::Vector3d& place) const;
  // By how much the map's surroundings of a place are turned, as a rotation vector in rad: half the
  // curl of the displacement.
  [[nodiscard]] Eigen::Vector3d RotationAt(const Eigen::Vector3d& place) const;

  // Displaces all points of a cloud in the world's frame.
  void Apply(ThreadPool& pool, PointCloud& map) const;

 private:
  static constexpr size_t kWaves = 4;
  struct Wave {
    Eigen::Vector3d k_per_m;
    double phase_rad;
  };
  double amplitude_m_;
  std::array<std::array<Wave, kWaves>, 3> waves_;  // by axis
};

// Traffic: cars and people that move through the streets and are not in the map.
//
// Each goes up and down one street, along its lane or pavement, and starts over at the end of it.
// Where it is depends on the stamp only. Const after construction; any number of threads may ask.

struct TrafficOptions {
  uint64_t seed = 1;
  double cars_per_km = 0.0;         // of street, [0, 200]
  double pedestrians_per_km = 0.0;  // of street, [0, 2000]
};

[[nodiscard]] OptionRows ListOptions(const TrafficOptions& options);

class Traffic {
 public:
  // `world` must outlive the traffic; `options` must be valid.
  Traffic(const World& world, const TrafficOptions& options);

  // All moving objects at that moment, without those that would touch the vehicle at `ego`.
  [[nodiscard]] std::vector<Solid> At(double stamp_s, const Eigen::Vector3d& ego) const;

  [[nodiscard]] size_t size() const { return movers_.size(); }

 private:
  struct Mover {
    bool car;
    size_t street;
    bool forward;
    double right_m;  // of the centre line, seen in the direction of travel
    double start_m;
    double speed_mps;
    uint64_t shape_seed;  // seed of its shape
  };
  void AddMovers(bool cars, double per_km);

  const World& world_;
  TrafficOptions options_;
  std::vector<Mover> movers_;
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_MAP_CHANGES_H_
