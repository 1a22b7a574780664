// SPDX-License-Identifier: Apache-2.0

#include "core/map_update/cube_votes.h"

#include <algorithm>

#include "core/map_update/cube_walk.h"

namespace voxloc {
namespace {

template <typename Visit>
void ForEachNear(const CellKey& key, const Visit& visit) {
  for (int32_t z = key.z - 1; z <= key.z + 1; ++z) {
    for (int32_t y = key.y - 1; y <= key.y + 1; ++y) {
      for (int32_t x = key.x - 1; x <= key.x + 1; ++x) visit(CellKey{x, y, z});
    }
  }
}

}  // namespace

bool CubeVotes::IsInside(const CellKey& key) const {
  const Eigen::Vector3d centre = CellCentre(key, cube_m_);
  return (centre.array() >= min_map_.array()).all() && (centre.array() <= max_map_.array()).all();
}

const VotedCube* CubeVotes::Find(const CellKey& key) const {
  const uint32_t* place = places_.Find(key);
  return place == nullptr ? nullptr : &cubes_[*place];
}

VotedCube& CubeVotes::CubeAt(const CellKey& key) {
  if (const uint32_t* place = places_.Find(key)) return cubes_[*place];
  cubes_.emplace_back().key = key;
  places_.Insert(key, static_cast<uint32_t>(cubes_.size() - 1));
  return cubes_.back();
}

void CubeVotes::AddMap(const PointCloud& cloud_map) {
  for (size_t i = 0; i < cloud_map.size(); ++i) {
    if (!cloud_map.IsFinite(i)) continue;
    const CellKey key = CellOf(cloud_map.Point(i), cube_m_);
    if (IsInside(key)) ++CubeAt(key).map_points;
  }
}

void CubeVotes::SetGone(absl::Span<const CellKey> cubes) {
  for (const CellKey& key : cubes) {
    if (const uint32_t* place = places_.Find(key)) cubes_[*place].gone = true;
  }
}

void CubeVotes::AddHits(size_t pass, absl::Span<const Eigen::Vector3d> points_map) {
  for (const Eigen::Vector3d& point : points_map) {
    const CellKey key = CellOf(point, cube_m_);
    if (!IsInside(key)) continue;
    VotedCube& cube = CubeAt(key);
    cube.hit |= PassMask{1} << pass;
    cube.hit_sum += (point - CellCorner(key, cube_m_)).cast<float>();
    ++cube.hits;
  }
}

void CubeVotes::Settle(absl::FunctionRef<bool(const Eigen::Vector3d&)> explained) {
  constexpr double kAroundM = 1.0;
  FlatTable<CellKey, PassMask> seen;  // in a place, or one of the 26 around it
  for (const VotedCube& cube : cubes_) {
    if (cube.hit == 0) continue;
    ForEachNear(CellOf(CellCentre(cube.key, cube_m_), kAroundM), [&](const CellKey& place) {
      if (PassMask* mask = seen.Find(place)) {
        *mask |= cube.hit;
      } else {
        seen.Insert(place, cube.hit);
      }
    });
  }
  for (VotedCube& cube : cubes_) {
    if (const PassMask* mask = seen.Find(CellOf(CellCentre(cube.key, cube_m_), kAroundM))) {
      cube.seen = *mask;
    }
    bool near_map = false;
    ForEachNear(cube.key, [&](const CellKey& key) {
      const VotedCube* other = Find(key);
      if (other == nullptr) return;
      cube.hit_near |= other->hit;
      near_map |= other->map_points > 0 && !other->gone;
    });
    cube.novel = cube.hits > 0 && !near_map && !explained(MeanHit(cube));
    const CellKey block = BlockOf(cube.key);
    if (blocks_.Find(block) == nullptr) blocks_.Insert(block, 1);
  }
}

void CubeVotes::AddRays(size_t pass, const Eigen::Vector3d& sensor_map,
                        absl::Span<const Eigen::Vector3d> points_map, double range_m) {
  const PassMask bit = PassMask{1} << pass;
  // Cubes with something in them, from one place on a ray to another.
  const auto walk = [this](const Eigen::Vector3d& from, const Eigen::Vector3d& direction,
                           double from_m, double to_m, const auto& visit) {
    WalkCubes(from, direction, from_m, to_m, kBlockSize * cube_m_,
              [&](const CellKey& block, double entry_m, double exit_m) {
                if (blocks_.Find(block) == nullptr) return;
                WalkCubes(from, direction, entry_m, exit_m, cube_m_,
                          [&](const CellKey& key, double in_m, double out_m) {
                            const uint32_t* place = places_.Find(key);
                            if (place != nullptr) visit(cubes_[*place], out_m - in_m);
                          });
              });
  };
  for (const Eigen::Vector3d& point : points_map) {
    const Eigen::Vector3d ray = point - sensor_map;
    const double length_m = ray.norm();
    if (!(length_m > kStopBeforeEndM)) continue;
    const Eigen::Vector3d direction = ray / length_m;
    walk(sensor_map, direction, 0.0, std::min(range_m, length_m - kStopBeforeEndM),
         [&](VotedCube& cube, double chord_m) {
           if (chord_m < kMinChord * cube_m_) return;
           cube.through |= cube.crossed_once & bit;
           cube.crossed_once |= bit;
         });
    const VotedCube* end = length_m < range_m ? Find(CellOf(point, cube_m_)) : nullptr;
    if (end == nullptr || !end->novel) continue;
    walk(sensor_map, direction, length_m + cube_m_, length_m + kBehindM,
         [&](VotedCube& cube, double) { cube.behind |= bit; });
  }
}

void CubeVotes::Drop(PassMask passes) {
  for (VotedCube& cube : cubes_) {
    for (PassMask* mask :
         {&cube.hit, &cube.hit_near, &cube.seen, &cube.crossed_once, &cube.through, &cube.behind}) {
      *mask &= ~passes;
    }
  }
}

size_t CubeVotes::MemoryBytes() const {
  return cubes_.capacity() * sizeof(VotedCube) + places_.MemoryBytes() + blocks_.MemoryBytes();
}

}  // namespace voxloc
