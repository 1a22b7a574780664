// SPDX-License-Identifier: Apache-2.0
//
// SquareIndex: a uniform grid over items, to find those near a place in a large world. Items are
// numbers, stored in the order in which they were added. Thread-safe for const use.

#ifndef VOXLOC_CLIENTS_SIM_SQUARE_INDEX_H_
#define VOXLOC_CLIENTS_SIM_SQUARE_INDEX_H_

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace voxloc::sim {

class SquareIndex {
 public:
  // For a world within [-half_size_m, half_size_m]^2; positions outside are clamped to the
  // outermost squares.
  SquareIndex(double half_size_m, double square_m)
      : half_size_m_(half_size_m),
        square_m_(square_m),
        squares_per_side_(
            std::max(1, static_cast<int>(std::ceil(2.0 * half_size_m / square_m - 1e-9)))),
        items_(static_cast<size_t>(squares_per_side_) * static_cast<size_t>(squares_per_side_)) {}

  // Into every square that the rectangle touches.
  void Add(size_t item, const Eigen::Vector2d& low, const Eigen::Vector2d& high) {
    for (int row = SquareOf(low.y()); row <= SquareOf(high.y()); ++row) {
      for (int column = SquareOf(low.x()); column <= SquareOf(high.x()); ++column) {
        items_[At(column, row)].push_back(item);
      }
    }
  }

  // Calls visit(item) for each item in the squares that the rectangle touches, once per square that
  // an item is in.
  template <typename Visit>
  void VisitWithin(const Eigen::Vector2d& low, const Eigen::Vector2d& high,
                   const Visit& visit) const {
    for (int row = SquareOf(low.y()); row <= SquareOf(high.y()); ++row) {
      for (int column = SquareOf(low.x()); column <= SquareOf(high.x()); ++column) {
        for (const size_t item : items_[At(column, row)]) visit(item);
      }
    }
  }

  // Calls visit(item) for the items around `place`, ring by ring of squares, until
  // enough(distance_m) returns true after a ring: items at least that far away do not matter. An
  // item is visited once per square that it is in.
  template <typename Visit, typename Enough>
  void VisitOutwards(const Eigen::Vector2d& place, const Visit& visit, const Enough& enough) const {
    const int column = SquareOf(place.x());
    const int row = SquareOf(place.y());
    for (int ring = 0; ring < squares_per_side_; ++ring) {
      for (int r = std::max(0, row - ring); r <= std::min(squares_per_side_ - 1, row + ring); ++r) {
        // Of the rows between the outermost, only the ends.
        const int step = r == row - ring || r == row + ring ? 1 : std::max(1, 2 * ring);
        for (int c = column - ring; c <= column + ring; c += step) {
          if (c < 0 || c >= squares_per_side_) continue;
          for (const size_t item : items_[At(c, r)]) visit(item);
        }
      }
      // Items outside of these rings are at least `ring` squares away, also if `place` is outside
      // the world.
      if (enough(ring * square_m_)) return;
    }
  }

 private:
  [[nodiscard]] int SquareOf(double position_m) const {
    const double square = (position_m + half_size_m_) / square_m_;
    return static_cast<int>(std::clamp(square, 0.0, static_cast<double>(squares_per_side_ - 1)));
  }
  [[nodiscard]] size_t At(int column, int row) const {
    return static_cast<size_t>(row) * static_cast<size_t>(squares_per_side_) +
           static_cast<size_t>(column);
  }

  double half_size_m_;
  double square_m_;
  int squares_per_side_;
  std::vector<std::vector<size_t>> items_;
};

}  // namespace voxloc::sim

#endif  // VOXLOC_CLIENTS_SIM_SQUARE_INDEX_H_
