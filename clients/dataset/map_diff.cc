// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/map_diff.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

constexpr double kMaxIndex = 1 << 30;
// Farther away, as in the next but one place of a car park, it is rather another thing.
constexpr double kMaxMovedM = 5.0;
// Fewer have no shape to know a thing by.
constexpr size_t kMinMovedCubes = 4;

std::array<CubeMap::Index, 27> WithNeighbors(const CubeMap::Index& index) {
  std::array<CubeMap::Index, 27> all;
  for (int i = 0; i < 27; ++i) {
    all[static_cast<size_t>(i)] = index + CubeMap::Index(i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1);
  }
  return all;
}

void FindChanged(const CubeMap& with, const CubeMap& without, uint64_t min_points, bool came,
                 std::vector<ChangedCube>& changed) {
  for (const auto& [index, cube] : with.cubes()) {
    if (cube.points < min_points || without.HasNear(index)) continue;
    changed.push_back({came, index, cube.points, cube.Mean()});
  }
}

// Sets of cubes that touch, as trees of which each cube knows the way to the root.
class Groups {
 public:
  explicit Groups(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  size_t RootOf(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(size_t a, size_t b) { parent_[RootOf(a)] = RootOf(b); }

 private:
  std::vector<size_t> parent_;
};

Eigen::Vector3d MiddleOf(const ChangedPlace& place) {
  return 0.5 * (place.min_map + place.max_map);
}

bool CanBeTheSame(const ChangedPlace& a, const ChangedPlace& b, double cube_m) {
  const Eigen::Vector3d difference =
      (a.max_map - a.min_map - b.max_map + b.min_map).cwiseAbs() / cube_m;
  const auto [fewer, more] = std::minmax(a.cubes, b.cubes);
  return difference.maxCoeff() < 1.5 && fewer >= kMinMovedCubes && 2 * more <= 3 * fewer &&
         (MiddleOf(a) - MiddleOf(b)).norm() <= kMaxMovedM;
}

void PairMoved(double cube_m, std::vector<ChangedPlace>& places) {
  const auto square_of = [](const ChangedPlace& place) -> CubeMap::Index {
    return (MiddleOf(place) / kMaxMovedM).array().floor().matrix().cast<int>();
  };
  std::unordered_map<CubeMap::Index, std::vector<size_t>, CubeMap::Hash> came;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].came && places[i].cubes >= kMinMovedCubes) {
      came[square_of(places[i])].push_back(i);
    }
  }
  for (size_t i = 0; i < places.size(); ++i) {
    ChangedPlace& went = places[i];
    if (went.came || went.cubes < kMinMovedCubes) continue;
    for (const CubeMap::Index& square : WithNeighbors(square_of(went))) {
      const auto found = came.find(square);
      if (found == came.end()) continue;
      for (const size_t other : found->second) {
        if (places[other].counterpart.has_value() || !CanBeTheSame(went, places[other], cube_m)) {
          continue;
        }
        const double moved_m = (MiddleOf(places[other]) - MiddleOf(went)).norm();
        if (went.counterpart.has_value() &&
            std::tie(went.moved_m, *went.counterpart) < std::tie(moved_m, other)) {
          continue;
        }
        went.counterpart = other;
        went.moved_m = moved_m;
      }
    }
    if (!went.counterpart.has_value()) continue;
    places[*went.counterpart].counterpart = i;
    places[*went.counterpart].moved_m = went.moved_m;
  }
}

std::vector<ChangedPlace> FindPlaces(const std::vector<ChangedCube>& cubes, double cube_m) {
  std::unordered_map<CubeMap::Index, size_t, CubeMap::Hash> number_of;
  for (size_t i = 0; i < cubes.size(); ++i) number_of[cubes[i].index] = i;
  Groups groups(cubes.size());
  for (size_t i = 0; i < cubes.size(); ++i) {
    for (const CubeMap::Index& near : WithNeighbors(cubes[i].index)) {
      const auto found = number_of.find(near);
      if (found != number_of.end() && cubes[found->second].came == cubes[i].came) {
        groups.Join(i, found->second);
      }
    }
  }
  std::vector<ChangedPlace> places;
  std::unordered_map<size_t, size_t> place_of;  // of a root
  for (size_t i = 0; i < cubes.size(); ++i) {
    const ChangedCube& cube = cubes[i];
    const Eigen::Vector3d low = cube.index.cast<double>() * cube_m;
    const Eigen::Vector3d high = low.array() + cube_m;
    const auto [at, is_new] = place_of.emplace(groups.RootOf(i), places.size());
    if (is_new) {
      places.push_back(
          {cube.came, 0, 0, Eigen::Vector3d::Zero(), low, high, /*counterpart=*/{}, 0.0});
    }
    ChangedPlace& place = places[at->second];
    ++place.cubes;
    place.points += cube.points;
    place.mean_map += static_cast<double>(cube.points) * cube.mean_map;
    place.min_map = place.min_map.cwiseMin(low);
    place.max_map = place.max_map.cwiseMax(high);
  }
  for (ChangedPlace& place : places) place.mean_map /= static_cast<double>(place.points);
  std::stable_sort(places.begin(), places.end(), [](const ChangedPlace& a, const ChangedPlace& b) {
    return a.points > b.points;
  });
  PairMoved(cube_m, places);
  return places;
}

}  // namespace

size_t CubeMap::Hash::operator()(const Index& index) const {
  return absl::HashOf(index.x(), index.y(), index.z());
}

absl::Status CubeMap::Add(const PointCloud& cloud_map) {
  for (size_t i = 0; i < cloud_map.size(); ++i) {
    if (!cloud_map.IsFinite(i)) continue;
    const Eigen::Vector3d point = cloud_map.Point(i);
    const Eigen::Vector3d place = (point / cube_m_).array().floor();
    if (!(place.cwiseAbs().maxCoeff() < kMaxIndex)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a point at (", point.x(), ", ", point.y(), ", ", point.z(),
                       ") m is too far from zero for cubes of ", cube_m_, " m"));
    }
    Cube& cube = cubes_[place.cast<int>()];
    ++cube.points;
    cube.sum_map += point;
    if (cubes_.size() > kMaxCubes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a map has points in more than ", kMaxCubes, " cubes of ", cube_m_, " m"));
    }
  }
  return absl::OkStatus();
}

bool CubeMap::HasNear(const Index& index) const {
  const auto all = WithNeighbors(index);
  return std::any_of(all.begin(), all.end(),
                     [this](const Index& near) { return cubes_.count(near) > 0; });
}

MapDiff DiffMaps(const CubeMap& before, const CubeMap& after, uint64_t min_points) {
  MapDiff diff;
  FindChanged(after, before, min_points, /*came=*/true, diff.cubes);
  FindChanged(before, after, min_points, /*came=*/false, diff.cubes);
  std::sort(diff.cubes.begin(), diff.cubes.end(), [](const ChangedCube& a, const ChangedCube& b) {
    return std::make_tuple(a.index.x(), a.index.y(), a.index.z()) <
           std::make_tuple(b.index.x(), b.index.y(), b.index.z());
  });
  diff.places = FindPlaces(diff.cubes, after.cube_m());
  return diff;
}

}  // namespace voxloc
