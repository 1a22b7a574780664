// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/engine/profile.h"
#include "core/status/try.h"
#include "server/convert/map.h"
#include "server/rpc/services.h"
#include "server/rpc/support/write_stream.h"

namespace voxloc::server {
namespace {

// A region is read in slabs of this many cells along x, so that one of any size takes little
// memory.
constexpr double kSlabCells = 64.0;
// The cells of a slab: 200 MB.
constexpr size_t kMaxCells = 1'000'000;
// About 700 kB in a message, well below what any client takes.
constexpr size_t kCellsPerMessage = 8192;
constexpr uint64_t kMessageBytes = 700'000;

class GetCellsStream : public PulledStream<v1::GetCellsRequest, v1::GetCellsResponse> {
 public:
  using PulledStream::PulledStream;

 private:
  absl::StatusOr<std::unique_ptr<v1::GetCellsResponse>> Next() override {
    if (view_.snapshot == nullptr) {
      VOXLOC_TRY(Open());
    }
    while (next_ == cells_.size()) {
      if (slab_x_ > max_.x()) return nullptr;
      Eigen::Vector3d slab_min = min_;
      Eigen::Vector3d slab_max = max_;
      slab_min.x() = slab_x_;
      slab_max.x() =
          std::min(max_.x(), std::nextafter(SlabEnd(), -std::numeric_limits<double>::infinity()));
      VOXLOC_ASSIGN_OR_RETURN(auto slab, view_.snapshot->resident->CellsInBox(
                                             statistics_index_, slab_min, slab_max, kMaxCells));
      // How much it is shows once it has been read; it is read again when it may be held.
      if (!slab.empty() && !ReserveBytes(slab.size() * sizeof(MapCell) + kMessageBytes))
        return nullptr;
      cells_ = std::move(slab);
      next_ = 0;
      slab_x_ = SlabEnd();
    }
    auto response = std::make_unique<v1::GetCellsResponse>();
    response->set_map_revision(view_.snapshot->revision);
    response->set_cell_size_m(cell_size_m_);
    const size_t end = std::min(cells_.size(), next_ + kCellsPerMessage);
    for (; next_ < end; ++next_) AddCell(cells_[next_], *response);
    return response;
  }

  absl::Status Open() {
    VOXLOC_ASSIGN_OR_RETURN(auto view, runtime_.maps.FindAtLeast(request().map(), 0));
    VOXLOC_ASSIGN_OR_RETURN(auto region, RegionFromProto(request()));
    const std::string& name =
        request().profile().empty() ? runtime_.config.default_profile : request().profile();
    auto profile = runtime_.config.profiles.Find(name);
    if (!profile.ok()) {
      return absl::NotFoundError(absl::StrCat("profile ", profile.status().message()));
    }
    VOXLOC_ASSIGN_OR_RETURN(auto on_map,
                            ProfileOnMap(*std::move(profile), *view.facts->build, request().map()));
    if (request().stage() >= on_map.stages.size()) {
      return absl::NotFoundError(absl::StrCat("profile ", name, " has the stages 0 to ",
                                              on_map.stages.size() - 1, " (got ", request().stage(),
                                              ")"));
    }
    const CellStatistics& wanted = on_map.stages[request().stage()].cells;
    const std::vector<CellStatistics>& there = view.snapshot->resident->statistics();
    const auto at = std::find(there.begin(), there.end(), wanted);
    if (at == there.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("map ", request().map(), " has no cells for ", ToString(wanted)));
    }
    statistics_index_ = static_cast<size_t>(at - there.begin());
    cell_size_m_ = wanted.cell_size_m;
    const Bounds& bounds = view.snapshot->tiles.bounds();
    min_ = bounds.min;
    max_ = bounds.max;
    if (region.has_value()) {
      min_ = min_.cwiseMax(region->min);
      max_ = max_.cwiseMin(region->max);
    }
    if (bounds.finite_points == 0 || (min_.array() > max_.array()).any()) {
      max_.x() = -std::numeric_limits<double>::infinity();  // nothing is there
    }
    slab_x_ = min_.x();
    VOXLOC_TRY(runtime_.residency_check.EnsureResident(view, min_.head<2>(), max_.head<2>()));
    view_ = std::move(view);
    return absl::OkStatus();
  }

  // On the lattice, so that where slabs are cut does not depend on the region.
  [[nodiscard]] double SlabEnd() const {
    const double width_m = kSlabCells * cell_size_m_;
    return (std::floor(slab_x_ / width_m) + 1.0) * width_m;
  }

  static void AddCell(const MapCell& cell, v1::GetCellsResponse& response) {
    response.add_index(cell.key.x);
    response.add_index(cell.key.y);
    response.add_index(cell.key.z);
    response.add_points(static_cast<uint32_t>(cell.count));
    for (int axis = 0; axis < 3; ++axis) response.add_mean(cell.mean[axis]);
    const ndt::Symmetric3<double>& covariance = cell.covariance;
    for (const double value : {covariance.xx, covariance.xy, covariance.xz, covariance.yy,
                               covariance.yz, covariance.zz}) {
      response.add_covariance(static_cast<float>(value));
    }
  }

  // Used on the reading queue alone.
  MapView view_;
  size_t statistics_index_ = 0;
  double cell_size_m_ = 0.0;
  Eigen::Vector3d min_ = Eigen::Vector3d::Zero();
  Eigen::Vector3d max_ = Eigen::Vector3d::Zero();
  double slab_x_ = 0.0;  // where the next slab begins
  std::vector<MapCell> cells_;
  size_t next_ = 0;  // of them
};

}  // namespace

MethodHandler* MakeGetCellsHandler(Runtime& runtime, RpcMethod method) {
  return MakeWriteStreamHandler<GetCellsStream>(runtime, method);
}

}  // namespace voxloc::server
