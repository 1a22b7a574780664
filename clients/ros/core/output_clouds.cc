// SPDX-License-Identifier: Apache-2.0

#include "clients/ros/core/output_clouds.h"

#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/messages.h"

namespace voxloc::ros {
namespace {

constexpr uint32_t kFloatBytes = 4;

PointCloud2 EmptyCloud(const Header& header, bool with_colors) {
  PointCloud2 cloud;
  cloud.header = header;
  for (const char* name : {"x", "y", "z", "rgb"}) {
    if (!with_colors && cloud.fields.size() == 3) break;
    cloud.fields.push_back({name, cloud.point_step, PointField::kFloat32, 1});
    cloud.point_step += kFloatBytes;
  }
  return cloud;
}

void PutXyz(const PointCloud& points, size_t i, uint8_t* out) {
  const Eigen::Vector3f xyz = points.Point(i).cast<float>();
  std::memcpy(out, xyz.data(), 3 * kFloatBytes);
}

}  // namespace

PointCloud2 XyzCloud(const Header& header, const PointCloud& cloud) {
  PointCloud2 message = EmptyCloud(header, false);
  message.width = static_cast<uint32_t>(cloud.size());
  message.data.resize(cloud.size() * message.point_step);
  for (size_t i = 0; i < cloud.size(); ++i) {
    PutXyz(cloud, i, message.data.data() + i * message.point_step);
  }
  return message;
}

absl::StatusOr<PointCloud2> XyzCloud(const Header& header, const v1::Cloud& cloud) {
  PointCloud points;
  if (absl::Status status = client::DecodePoints(cloud, &points); !status.ok()) return status;
  return XyzCloud(header, points);
}

absl::StatusOr<PointCloud2> ScoreCloud(const Header& header, const v1::Cloud& cloud,
                                       const v1::PointScores& scores) {
  PointCloud points;
  if (absl::Status status = client::DecodePoints(cloud, &points); !status.ok()) return status;
  const size_t count = points.size();
  if (static_cast<size_t>(scores.best_score_size()) != count || scores.rgb().size() != 3 * count) {
    return absl::InvalidArgumentError(
        absl::StrCat("point_scores must have ", count, " scores and ", 3 * count, " colours (got ",
                     scores.best_score_size(), " and ", scores.rgb().size(), ")"));
  }
  PointCloud2 message = EmptyCloud(header, true);
  message.data.resize(count * message.point_step);
  uint8_t* out = message.data.data();
  for (size_t i = 0; i < count; ++i) {
    if (scores.best_score(static_cast<int>(i)) <= 0.0F) continue;
    PutXyz(points, i, out);
    const char* rgb = scores.rgb().data() + 3 * i;
    // 0x00RRGGBB in little endian.
    const char color[kFloatBytes] = {rgb[2], rgb[1], rgb[0], 0};
    std::memcpy(out + 3 * kFloatBytes, color, sizeof(color));
    out += message.point_step;
  }
  message.data.resize(static_cast<size_t>(out - message.data.data()));
  message.width = static_cast<uint32_t>(message.data.size() / message.point_step);
  return message;
}

}  // namespace voxloc::ros
