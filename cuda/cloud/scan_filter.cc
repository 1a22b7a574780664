// SPDX-License-Identifier: Apache-2.0

#include "cuda/cloud/scan_filter.h"

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cuda/cloud/scan_filter_kernels.h"
#include "cuda/runtime/buffer.h"
#include "cuda/runtime/stream.h"

namespace voxloc::cuda {
namespace {

// Calls that may work at the same time; others wait for one of them.
constexpr size_t kMaxTrackingCalls = 16;
constexpr size_t kMaxOtherCalls = 4;
// Workspaces for more points are not kept.
constexpr size_t kMaxKeptPoints = size_t{1} << 20;
// Points are counted in 32 bits, and CUB takes some of its sizes as int.
constexpr size_t kMaxPoints = std::numeric_limits<int32_t>::max();

ScanLimits LimitsOf(const PointCloud& cloud, const FilterOptions& options) {
  ScanLimits limits{};
  limits.min_squared_m2 =
      options.min_range_m > 0.0 ? options.min_range_m * options.min_range_m : 0.0;
  limits.max_squared_m2 = options.max_range_m * options.max_range_m;
  limits.min_height_m = options.min_height_m;
  limits.max_height_m = options.max_height_m;
  limits.has_box = options.box.has_value();
  for (int axis = 0; axis < 3; ++axis) {
    limits.origin_m[axis] = cloud.origin[axis];
    if (!options.box.has_value()) continue;
    limits.box_min_m[axis] = options.box->min[axis];
    limits.box_max_m[axis] = options.box->max[axis];
  }
  return limits;
}

// Whether a grid of this leaf can be laid over a cloud depends on its bounds alone, so the CPU's
// own filter is asked about the corners.
absl::StatusOr<VoxelLattice> LatticeOf(const PointCloud& corners, double leaf_m) {
  VOXLOC_TRY(VoxelDownsample(corners, leaf_m).status());
  const Bounds bounds = ComputeBounds(corners);
  const Eigen::Vector3d first = (bounds.min / leaf_m).array().floor();
  const Eigen::Vector3d last = (bounds.max / leaf_m).array().floor();
  VoxelLattice lattice{};
  lattice.leaf_m = leaf_m;
  for (int axis = 0; axis < 3; ++axis) {
    lattice.origin_m[axis] = corners.origin[axis];
    lattice.first_index[axis] = first[axis];
    lattice.bits[axis] = BitsFor(static_cast<uint64_t>(last[axis] - first[axis]));
  }
  return lattice;
}

}  // namespace

PointCloud CornersOf(const OffsetBounds& bounds, const Eigen::Vector3d& origin) {
  Eigen::Vector3f min;
  Eigen::Vector3f max;
  for (int axis = 0; axis < 3; ++axis) {
    const uint32_t min_bits = FloatBits(~bounds.max_complement_of_min[axis]);
    const uint32_t max_bits = FloatBits(bounds.max[axis]);
    std::memcpy(&min[axis], &min_bits, sizeof(float));
    std::memcpy(&max[axis], &max_bits, sizeof(float));
  }
  PointCloud corners;
  corners.origin = origin;
  corners.PushBack(min.x(), min.y(), min.z());
  corners.PushBack(max.x(), max.y(), max.z());
  return corners;
}

// Memory and a stream for one call at a time. Buffers grow only while the stream is at rest.
class ScanFilter::Workspace {
 public:
  static absl::StatusOr<std::unique_ptr<Workspace>> Create(const std::shared_ptr<Device>& device,
                                                           Priority priority) {
    VOXLOC_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device, priority));
    auto workspace = std::make_unique<Workspace>(device, std::move(stream));
    VOXLOC_TRY(workspace->summary_.Reserve(1));
    return workspace;
  }

  Workspace(std::shared_ptr<Device> device, Stream stream)
      : device_(std::move(device)), stream_(std::move(stream)) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { Drain(); }

  // Waits for all work that is queued, as it may be after a failure.
  void Drain() const noexcept { stream_.Drain(); }

  // Everything but the random choice. The cloud has points, as many as fit.
  absl::Status Run(const PointCloud& cloud, const FilterOptions& options, FilteredCloud& result) {
    VOXLOC_TRY(Upload(cloud));
    const auto points = static_cast<uint32_t>(cloud.size());
    VOXLOC_CUDA_TRY(*device_,
                    ClassifyPoints(on_device_, points, LimitsOf(cloud, options), keep_.data(),
                                   summary_.data(), stream_.get()),
                    "classifying a scan's points");
    VOXLOC_ASSIGN_OR_RETURN(ScanSummary summary, FetchSummary());
    result.counts.not_finite = summary.not_finite;
    result.counts.out_of_limits = summary.out_of_limits;
    result.counts.kept = summary.kept;
    if (summary.kept == 0) return absl::OkStatus();

    VOXLOC_TRY(GatherKept(points, summary.kept));
    if (options.voxel_leaf_m == 0.0) {
      VOXLOC_CUDA_TRY(*device_, SplitColumns(kept_.data(), summary.kept, on_device_, stream_.get()),
                      "splitting a scan into columns");
      return Download(summary.kept, result.cloud);
    }
    VOXLOC_ASSIGN_OR_RETURN(const VoxelLattice lattice,
                            LatticeOf(CornersOf(summary, cloud.origin), options.voxel_leaf_m));
    VOXLOC_TRY(Thin(summary.kept, lattice));
    VOXLOC_ASSIGN_OR_RETURN(summary, FetchSummary());
    return Download(summary.voxels, result.cloud);
  }

  [[nodiscard]] size_t capacity_points() const { return keep_.capacity(); }

 private:
  absl::Status Upload(const PointCloud& cloud) {
    const size_t points = cloud.size();
    VOXLOC_TRY(columns_.Reserve(points * 4));
    VOXLOC_TRY(keep_.Reserve(points));
    float* const columns = columns_.data();
    on_device_ = {columns, columns + points, columns + 2 * points,
                  cloud.has_intensity() ? columns + 3 * points : nullptr};
    VOXLOC_TRY(UploadColumn(cloud.x, on_device_.x));
    VOXLOC_TRY(UploadColumn(cloud.y, on_device_.y));
    VOXLOC_TRY(UploadColumn(cloud.z, on_device_.z));
    return UploadColumn(cloud.intensity, on_device_.intensity);
  }

  absl::Status UploadColumn(const std::vector<float>& from, float* to) {
    if (from.empty()) return absl::OkStatus();
    return stream_.Upload(to, from.data(), from.size(), "copying a scan to the device");
  }

  // Waits for all that was queued.
  absl::StatusOr<ScanSummary> FetchSummary() {
    VOXLOC_ASSIGN_OR_RETURN(
        const ScanSummary* const summary,
        summary_host_.Fetch(summary_.data(), 1, stream_, "fetching the counts of a scan"));
    return *summary;
  }

  absl::Status ReserveScratch(uint32_t points) {
    size_t bytes = 0;
    VOXLOC_CUDA_TRY(*device_, ScratchBytes(points, &bytes), "sizing the sort of a scan");
    return scratch_.Reserve(bytes);
  }
  [[nodiscard]] Scratch scratch() const { return {scratch_.data(), scratch_.capacity()}; }

  absl::Status GatherKept(uint32_t points, uint32_t kept) {
    VOXLOC_TRY(ReserveScratch(points));
    VOXLOC_TRY(selected_.Reserve(size_t{kept} + 1));
    VOXLOC_TRY(kept_.Reserve(kept));
    VOXLOC_CUDA_TRY(*device_,
                    KeepSelected(on_device_, points, keep_.data(), kept, selected_.data(),
                                 selected_.data() + kept, kept_.data(), scratch(), stream_.get()),
                    "keeping a scan's points");
    return absl::OkStatus();
  }

  absl::Status Thin(uint32_t points, const VoxelLattice& lattice) {
    // Keep may still be running in the scratch memory.
    VOXLOC_TRY(stream_.Synchronize());
    VOXLOC_TRY(ReserveScratch(points));
    VOXLOC_TRY(keys_.Reserve(2 * size_t{points}));
    VOXLOC_TRY(order_.Reserve(2 * size_t{points}));
    VOXLOC_TRY(rank_.Reserve(points));
    VOXLOC_TRY(head_.Reserve(points));
    VOXLOC_TRY(start_.Reserve(points));
    const VoxelArrays arrays = {
        {{keys_.data(), keys_.data() + points}, {order_.data(), order_.data() + points}},
        rank_.data(),
        head_.data(),
        start_.data()};
    VOXLOC_CUDA_TRY(*device_,
                    ThinByVoxels(kept_.data(), points, lattice, arrays, scratch(), on_device_,
                                 summary_.data(), stream_.get()),
                    "thinning a scan by voxels");
    return absl::OkStatus();
  }

  absl::Status Download(size_t points, PointCloud& cloud) {
    VOXLOC_TRY(DownloadColumn(on_device_.x, points, cloud.x));
    VOXLOC_TRY(DownloadColumn(on_device_.y, points, cloud.y));
    VOXLOC_TRY(DownloadColumn(on_device_.z, points, cloud.z));
    if (on_device_.intensity != nullptr) {
      VOXLOC_TRY(DownloadColumn(on_device_.intensity, points, cloud.intensity));
    }
    return stream_.Synchronize();
  }

  absl::Status DownloadColumn(const float* from, size_t points, std::vector<float>& to) {
    to.resize(points);
    return stream_.Download(to.data(), from, points, "copying a scan from the device");
  }

  const std::shared_ptr<Device> device_;
  // x, y, z, intensity: what goes up, and later what comes down.
  DeviceBuffer<float> columns_{device_};
  CloudColumns on_device_;
  DeviceBuffer<uint8_t> keep_{device_};
  DeviceBuffer<uint32_t> selected_{device_};  // and, behind them, their number
  DeviceBuffer<float4> kept_{device_};
  DeviceBuffer<uint64_t> keys_{device_};
  DeviceBuffer<uint32_t> order_{device_};
  DeviceBuffer<uint32_t> rank_{device_};
  DeviceBuffer<uint8_t> head_{device_};
  DeviceBuffer<uint32_t> start_{device_};
  DeviceBuffer<std::byte> scratch_{device_};
  DeviceBuffer<ScanSummary> summary_{device_};
  PinnedBuffer summary_host_{device_};
  Stream stream_;
};

absl::StatusOr<std::unique_ptr<ScanFilter>> ScanFilter::Create(std::shared_ptr<Device> device) {
  VOXLOC_TRY(device->MakeCurrent());
  return std::unique_ptr<ScanFilter>(new ScanFilter(std::move(device)));
}

ScanFilter::ScanFilter(std::shared_ptr<Device> device)
    : device_(std::move(device)),
      tracking_(kMaxTrackingCalls, [this] { return Workspace::Create(device_, Priority::kHigh); }),
      other_(kMaxOtherCalls, [this] { return Workspace::Create(device_, Priority::kLow); }) {}
ScanFilter::~ScanFilter() = default;

absl::StatusOr<FilteredCloud> ScanFilter::Filter(const PointCloud& cloud,
                                                 const FilterOptions& options, Priority priority) {
  try {
    return Run(cloud, options, priority == Priority::kHigh ? tracking_ : other_);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no host memory to filter a cloud of ", cloud.size(), " points"));
  }
}

absl::StatusOr<FilteredCloud> ScanFilter::Run(const PointCloud& cloud, const FilterOptions& options,
                                              Pool<Workspace>& workspaces) {
  VOXLOC_TRY(ValidateFilterOptions(options));
  FilteredCloud result;
  result.cloud.origin = cloud.origin;
  result.counts.received = cloud.size();
  if (cloud.empty()) return result;
  if (cloud.size() > kMaxPoints) {
    return absl::ResourceExhaustedError(absl::StrCat("the cloud must have at most ", kMaxPoints,
                                                     " points (got ", cloud.size(), ")"));
  }
  VOXLOC_TRY(device_->MakeCurrent());
  {
    VOXLOC_ASSIGN_OR_RETURN(Pool<Workspace>::Lease workspace, workspaces.Acquire());
    const absl::Status status = workspace->Run(cloud, options, result);
    // Its memory is free for what comes next.
    if (!status.ok() || workspace->capacity_points() > kMaxKeptPoints) workspace.Discard();
    VOXLOC_TRY(status);
  }

  const size_t within_limits = result.counts.kept;
  if (options.max_points > 0 && result.cloud.size() > options.max_points) {
    result.cloud = RandomSample(result.cloud, options.max_points, options.random_seed);
  }
  result.counts.kept = result.cloud.size();
  result.counts.thinned = within_limits - result.counts.kept;
  return result;
}

}  // namespace voxloc::cuda
