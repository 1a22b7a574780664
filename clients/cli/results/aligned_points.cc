// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/results/aligned_points.h"

#include "clients/cpp/messages.h"
#include "clients/dataset/bag/byte_writer.h"
#include "core/cloud/point_cloud.h"
#include "core/status/try.h"

namespace voxloc::cli {

absl::StatusOr<std::unique_ptr<AlignedPoints>> AlignedPoints::Create(const std::string& path) {
  VOXLOC_ASSIGN_OR_RETURN(auto file, CountedFile::Create(path, [](uint64_t points) {
                            return PlyHead("aligned scans",
                                           "double x\ndouble y\ndouble z\nuint scan", points);
                          }));
  return std::unique_ptr<AlignedPoints>(new AlignedPoints(std::move(file)));
}

void AlignedPoints::Add(const ReplayRow& row) {
  PointCloud cloud_map;
  if (!row.accepted || !client::DecodePoints(row.result.aligned_cloud(), &cloud_map).ok()) return;
  bag::ByteWriter vertices;
  for (size_t i = 0; i < cloud_map.size(); ++i) {
    const Eigen::Vector3d point = cloud_map.Point(i);
    for (int axis = 0; axis < 3; ++axis) vertices.Write(point[axis]);
    vertices.Write(static_cast<uint32_t>(row.index));
  }
  status_.Update(file_->Add(vertices.Take(), cloud_map.size()));
}

absl::Status AlignedPoints::Close() {
  status_.Update(file_->Close());
  return status_;
}

}  // namespace voxloc::cli
