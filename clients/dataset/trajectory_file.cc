// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/trajectory_file.h"

#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "clients/dataset/stamp_text.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/malformed.h"
#include "core/cloud/io/text_scan.h"

namespace voxloc {
namespace {

constexpr size_t kMaxTrajectoryBytes = size_t{1} << 30;
constexpr int64_t kKittiPeriod_ns = 100'000'000;

using Words = std::vector<absl::string_view>;

absl::Status ParseNumbers(const Words& words, size_t first, double* numbers) {
  for (size_t i = first; i < words.size(); ++i) {
    if (!ParseDouble(words[i], numbers[i - first])) {
      return absl::InvalidArgumentError(absl::StrCat(Quoted(words[i]), " is not a number"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<StampedPose> ParseKittiLine(const Words& words, size_t index) {
  if (words.size() != 12) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", words.size(), " values, a kitti pose has 12 (a 3x4 matrix, row-major)"));
  }
  std::array<double, 12> numbers;
  if (absl::Status status = ParseNumbers(words, 0, numbers.data()); !status.ok()) return status;
  Eigen::Matrix4d matrix = Eigen::Matrix4d::Identity();
  matrix.topRows<3>() =
      Eigen::Map<const Eigen::Matrix<double, 3, 4, Eigen::RowMajor>>(numbers.data());
  const absl::StatusOr<Pose> pose = PoseFromMatrix(matrix);
  if (!pose.ok()) return pose.status();
  return StampedPose{static_cast<int64_t>(index) * kKittiPeriod_ns, *pose};
}

absl::StatusOr<StampedPose> ParseTumLine(const Words& words) {
  if (words.size() != 8) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", words.size(), " values, a tum pose has 8 (stamp x y z qx qy qz qw)"));
  }
  const std::optional<int64_t> stamp_ns = NanosecondsFromSeconds(words[0]);
  if (!stamp_ns.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the stamp ", Quoted(words[0]),
                     " is not a number of seconds whose nanoseconds fit 64 bits"));
  }
  std::array<double, 7> n;
  if (absl::Status status = ParseNumbers(words, 1, n.data()); !status.ok()) return status;
  const absl::StatusOr<Pose> pose =
      PoseFromQuaternion({n[0], n[1], n[2]}, Eigen::Quaterniond(n[6], n[3], n[4], n[5]));
  if (!pose.ok()) return pose.status();
  return StampedPose{*stamp_ns, *pose};
}

void AppendKittiLine(const Pose& pose, std::string& out) {
  const Eigen::Matrix4d matrix = pose.Matrix();
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      if (row + column > 0) out += ' ';
      out += NumberText(matrix(row, column));
    }
  }
  out += '\n';
}

void AppendTumLine(const StampedPose& stamped, std::string& out) {
  absl::StrAppend(&out, SecondsFromNanoseconds(stamped.stamp_ns));
  const Eigen::Vector3d& t = stamped.pose.translation;
  const Eigen::Quaterniond& q = stamped.pose.rotation;
  for (const double value : {t.x(), t.y(), t.z(), q.x(), q.y(), q.z(), q.w()}) {
    out += ' ';
    out += NumberText(value);
  }
  out += '\n';
}

}  // namespace

absl::StatusOr<TrajectoryFormat> TrajectoryFormatNamed(absl::string_view name) {
  if (name == "kitti") return TrajectoryFormat::kKitti;
  if (name == "tum") return TrajectoryFormat::kTum;
  return absl::InvalidArgumentError(
      absl::StrCat("the pose format must be kitti or tum (got ", Quoted(name), ")"));
}

absl::StatusOr<std::vector<StampedPose>> ReadTrajectory(const std::string& path,
                                                        TrajectoryFormat format) {
  const absl::StatusOr<FileBytes> bytes = ReadFileBytes(path, kMaxTrajectoryBytes);
  if (!bytes.ok()) return bytes.status();
  std::vector<StampedPose> poses;
  LineScanner lines(bytes->view());
  absl::string_view line;
  while (lines.Next(line)) {
    Words words;
    for (absl::string_view word = TakeWord(line); !word.empty(); word = TakeWord(line)) {
      words.push_back(word);
    }
    if (words.empty() || words[0].front() == '#') continue;
    const absl::StatusOr<StampedPose> pose = format == TrajectoryFormat::kKitti
                                                 ? ParseKittiLine(words, poses.size())
                                                 : ParseTumLine(words);
    if (!pose.ok()) return MalformedLine(path, lines.line_number(), pose.status().message());
    poses.push_back(*pose);
  }
  if (poses.empty()) return Malformed(path, "the file has no pose");
  return poses;
}

absl::Status WriteTrajectory(const std::string& path, TrajectoryFormat format,
                             const std::vector<StampedPose>& poses) {
  std::string out;
  for (const StampedPose& stamped : poses) {
    if (format == TrajectoryFormat::kKitti) {
      AppendKittiLine(stamped.pose, out);
    } else {
      AppendTumLine(stamped, out);
    }
  }
  return WriteFileBytes(path, out);
}

}  // namespace voxloc
