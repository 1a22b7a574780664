// SPDX-License-Identifier: Apache-2.0
//
// PartChain: worlds placed one behind another along x, on one ground.
//
// Each part keeps its own ground between its two limits along x. In the gaps the ground leads
// smoothly from one part's to the next one's, which is raised so that both are equally high where
// a road joins them. A value; one thread at a time.

#ifndef VOXLOC_CLIENTS_SIM_PART_CHAIN_H_
#define VOXLOC_CLIENTS_SIM_PART_CHAIN_H_

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "clients/sim/furniture.h"
#include "clients/sim/world.h"

namespace voxloc::sim {

struct ChainPart {
  World world;
  double yaw = 0.0;                                 // by which the world is turned
  Eigen::Vector2d entry = Eigen::Vector2d::Zero();  // in the world: where the road arrives
  Eigen::Vector2d exit = Eigen::Vector2d::Zero();   // and where the next road leaves
  double before_m = 0.0;                            // its ground begins so far before the entry
  double behind_m = 0.0;                            // and ends so far behind the exit, along x
  // Added to the world's own ground, in the world's coordinates; null: nothing. Zero at the limits.
  std::function<double(const Eigen::Vector2d& place)> hill_m = nullptr;
};

class PartChain {
 public:
  // Between two parts there are `gap_m` of open land.
  explicit PartChain(double gap_m) : gap_m_(gap_m) {}

  // Places the next part so that the road from the last part's exit to its entry runs along x.
  void Append(ChainPart part);

  [[nodiscard]] size_t size() const { return places_.size(); }
  [[nodiscard]] const World& world(size_t part) const { return places_[part].part.world; }
  // From a world's coordinates to the chain's.
  [[nodiscard]] Eigen::Vector2d ToChain(size_t part, const Eigen::Vector2d& place) const {
    return places_[part].frame.ToMap({place.x(), place.y(), 0.0}).head<2>();
  }
  // A place on the ground.
  [[nodiscard]] Eigen::Vector3d OnGround(const Eigen::Vector2d& place) const {
    return {place.x(), place.y(), HeightAt(place.x(), place.y())};
  }
  // Limits of a part's own ground along x.
  [[nodiscard]] double LowX(size_t part) const { return places_[part].low_x_m; }
  [[nodiscard]] double HighX(size_t part) const { return places_[part].high_x_m; }

  // Appends the solids and the objects of all parts, in the chain's coordinates.
  void AppendContents(std::vector<Solid>& solids, std::vector<SceneObject>& objects) const;
  // The ground as far as `beyond_m` before the first and behind the last part, with the chain's
  // coordinate `middle` at zero.
  [[nodiscard]] Ground MakeGround(const Eigen::Vector2d& middle, double beyond_m) const;

 private:
  struct PlacedPart {
    ChainPart part;
    LocalFrame frame;
    double low_x_m;
    double high_x_m;
  };
  // Of a part's own ground.
  [[nodiscard]] static double HeightOf(const PlacedPart& place, double x, double y);
  [[nodiscard]] double HeightAt(double x, double y) const;

  double gap_m_;
  std::vector<PlacedPart> places_;
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_PART_CHAIN_H_
