// SPDX-License-Identifier: Apache-2.0
//
// Traffic: cars and people that move through the streets and are not in the map.
//
// Each goes up and down one street, along its lane or pavement, and starts over at the end of it.
// Where it is depends on the stamp only. Const after construction; any number of threads may ask.

#ifndef VOXLOC_CLIENTS_SIM_TRAFFIC_H_
#define VOXLOC_CLIENTS_SIM_TRAFFIC_H_

#include <cstdint>
#include <vector>

#include "clients/sim/options.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

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

#endif  // VOXLOC_CLIENTS_SIM_TRAFFIC_H_
