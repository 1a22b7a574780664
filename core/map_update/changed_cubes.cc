// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/changed_cubes.h"

#include "core/cloud/ground.h"
#include "core/container/flat_table.h"

namespace voxloc {
namespace {

// What stands higher is no car: vans are up to 2.5 m high.
constexpr double kRaisedM = 2.5;
// Ground and kerbs are lower.
constexpr double kStandingM = 0.3;
// A wall that begins at the ground has a part in this height over that of cars.
constexpr double kWallM = 1.0;
constexpr double kPlaceM = 1.0;
constexpr double kColumnM = 0.5;
// Changed cubes in a place of a cubic metre, at the least. A wall through it has up to 100 cubes
// with points of scans, and 25 with points of a map that has one every 0.2 m.
constexpr size_t kMinCubesAPlace = 8;
// Places over the height of cars that touch each other and make a change, at the least. In the
// unchanged towns of seeds 101 to 105 (`voxloc_bench map-update --unchanged`) up to 15 such places
// touched, where the map has gaps or its drift bends it; of a new house, 100 or more.
constexpr size_t kMinPlaces = 20;

// The changed places over the height of cars, in groups that touch each other.
class RaisedPlaces {
 public:
  void Add(const CellKey& place) {
    if (places_.Find(place) == nullptr) places_.Insert(place, 0);
  }
  // The number of places in the group of one of them, which it counts once.
  size_t GroupSize(const CellKey& place) {
    if (const size_t known = *places_.Find(place)) return sizes_[known - 1];
    const size_t number = sizes_.size() + 1;
    size_t size = 0;
    std::vector<CellKey> open = {place};
    *places_.Find(place) = number;
    while (!open.empty()) {
      const CellKey next = open.back();
      open.pop_back();
      ++size;
      for (int i = 0; i < 27; ++i) {
        const CellKey near = {next.x + i % 3 - 1, next.y + i / 3 % 3 - 1, next.z + i / 9 - 1};
        size_t* group = places_.Find(near);
        if (group == nullptr || *group != 0) continue;
        *group = number;
        open.push_back(near);
      }
    }
    sizes_.push_back(size);
    return size;
  }

 private:
  FlatTable<CellKey, size_t> places_;  // the number of the group, from 1; 0: not known
  std::vector<size_t> sizes_;
};

}  // namespace

ChangedCubes::ChangedCubes(const CubeVotes& votes, const ChangeRule& rule,
                           absl::Span<const int64_t> pass_start_ns)
    : large_(votes.cubes().size(), false) {
  const std::vector<VotedCube>& cubes = votes.cubes();
  const double cube_m = votes.cube_m();
  const auto is_changed = [this](size_t cube) {
    return fates_[cube] == CubeFate::kGone || fates_[cube] == CubeFate::kNew;
  };
  LowestNearby lowest(kPlaceM);
  FlatTable<CellKey, uint32_t> changed;  // cubes in each place
  for (const VotedCube& cube : cubes) {
    const Eigen::Vector3d centre = CellCentre(cube.key, cube_m);
    lowest.Add(centre);
    fates_.push_back(DecideCube(cube, rule, pass_start_ns));
    if (!is_changed(fates_.size() - 1)) continue;
    const CellKey place = CellOf(centre, kPlaceM);
    if (changed.Find(place) == nullptr) changed.Insert(place, 0);
    ++*changed.Find(place);
  }
  FlatTable<CellKey, uint8_t> walls;  // columns with new cubes right over the height of cars
  RaisedPlaces raised;
  for (size_t i = 0; i < cubes.size(); ++i) {
    if (!is_changed(i)) continue;
    const Eigen::Vector3d centre = CellCentre(cubes[i].key, cube_m);
    const CellKey place = CellOf(centre, kPlaceM);
    if (*changed.Find(place) < kMinCubesAPlace) {
      fates_[i] = CubeFate::kStays;
      continue;
    }
    const double height_m = centre.z() - lowest.At(centre);
    if (height_m <= kRaisedM) continue;
    raised.Add(place);
    const CellKey column = CellOf({centre.x(), centre.y(), 0.0}, kColumnM);
    if (fates_[i] == CubeFate::kNew && height_m <= kRaisedM + kWallM &&
        walls.Find(column) == nullptr) {
      walls.Insert(column, 1);
    }
  }
  for (size_t i = 0; i < cubes.size(); ++i) {
    if (!is_changed(i)) continue;
    const Eigen::Vector3d centre = CellCentre(cubes[i].key, cube_m);
    const double height_m = centre.z() - lowest.At(centre);
    if (height_m > kRaisedM) {
      large_[i] = raised.GroupSize(CellOf(centre, kPlaceM)) >= kMinPlaces;
    } else if (fates_[i] == CubeFate::kNew && height_m > kStandingM &&
               walls.Find(CellOf({centre.x(), centre.y(), 0.0}, kColumnM)) == nullptr) {
      fates_[i] = CubeFate::kUnsettled;
    }
  }
}

}  // namespace voxloc
