// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/trajectory_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

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
  VOXLOC_TRY(ParseNumbers(words, 0, numbers.data()));
  Eigen::Matrix4d matrix = Eigen::Matrix4d::Identity();
  matrix.topRows<3>() =
      Eigen::Map<const Eigen::Matrix<double, 3, 4, Eigen::RowMajor>>(numbers.data());
  VOXLOC_ASSIGN_OR_RETURN(const Pose pose, PoseFromMatrix(matrix));
  return StampedPose{static_cast<int64_t>(index) * kKittiPeriod_ns, pose};
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
  VOXLOC_TRY(ParseNumbers(words, 1, n.data()));
  VOXLOC_ASSIGN_OR_RETURN(
      const Pose pose,
      PoseFromQuaternion({n[0], n[1], n[2]}, Eigen::Quaterniond(n[6], n[3], n[4], n[5])));
  return StampedPose{*stamp_ns, pose};
}

void AppendNumber(std::string* out, double value) { out->append(NumberText(value)); }

std::string LineOf(const StampedPose& stamped, TrajectoryFormat format) {
  if (format == TrajectoryFormat::kKitti) {
    const Eigen::Matrix<double, 3, 4, Eigen::RowMajor> rows = stamped.pose.Matrix().topRows<3>();
    return absl::StrJoin(rows.data(), rows.data() + rows.size(), " ", &AppendNumber);
  }
  const Eigen::Vector3d& t = stamped.pose.translation;
  const Eigen::Quaterniond& q = stamped.pose.rotation;
  const std::array<double, 7> values = {t.x(), t.y(), t.z(), q.x(), q.y(), q.z(), q.w()};
  return absl::StrCat(SecondsFromNanoseconds(stamped.stamp_ns), " ",
                      absl::StrJoin(values, " ", &AppendNumber));
}

constexpr size_t kMaxCalibrationBytes = size_t{1} << 20;

// Poses that move less have no direction.
constexpr double kMinDistance_m = 1.0;
// Of the way, along the own z axis. Vehicles climb a few percent.
constexpr double kCameraShare = 0.7;

using Entries = std::map<std::string, std::vector<double>>;

absl::StatusOr<Entries> ReadCalibrationEntries(const std::string& path) {
  VOXLOC_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFileBytes(path, kMaxCalibrationBytes));
  Entries entries;
  LineScanner lines(bytes.view());
  absl::string_view line;
  while (lines.Next(line)) {
    const std::string key(absl::StripSuffix(ConsumeWord(line), ":"));
    std::vector<double> numbers;
    for (absl::string_view word = ConsumeWord(line); !word.empty(); word = ConsumeWord(line)) {
      double number = 0.0;
      // Dates and names of cameras.
      if (!ParseDouble(word, number)) break;
      numbers.push_back(number);
    }
    if (!key.empty()) entries[key] = std::move(numbers);
  }
  return entries;
}

absl::StatusOr<Pose> PoseOf(const std::string& path, const std::string& key,
                            const Eigen::Matrix4d& matrix) {
  const absl::StatusOr<Pose> pose = PoseFromMatrix(matrix);
  if (!pose.ok()) return Malformed(path, absl::StrCat(key, ": ", pose.status().message()));
  return pose;
}

// Of `rows` rows of `columns` numbers, where the entry has as many.
absl::StatusOr<Eigen::Matrix4d> MatrixOf(const std::string& path, const Entries& entries,
                                         const std::string& key, int rows, int columns) {
  const std::vector<double>& numbers = entries.at(key);
  if (numbers.size() != static_cast<size_t>(rows) * static_cast<size_t>(columns)) {
    return Malformed(path, absl::StrCat(key, " must have ", rows * columns, " numbers (got ",
                                        numbers.size(), ")"));
  }
  Eigen::Matrix4d matrix = Eigen::Matrix4d::Identity();
  for (int i = 0; i < rows * columns; ++i) {
    matrix(i / columns, i % columns) = numbers[static_cast<size_t>(i)];
  }
  return matrix;
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
  VOXLOC_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFileBytes(path, kMaxTrajectoryBytes));
  std::vector<StampedPose> poses;
  LineScanner lines(bytes.view());
  absl::string_view line;
  while (lines.Next(line)) {
    Words words;
    for (absl::string_view word = ConsumeWord(line); !word.empty(); word = ConsumeWord(line)) {
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
    absl::StrAppend(&out, LineOf(stamped, format), "\n");
  }
  return WriteFileBytes(path, out);
}

absl::StatusOr<Pose> ReadKittiCalibration(const std::string& path) {
  VOXLOC_ASSIGN_OR_RETURN(const Entries entries, ReadCalibrationEntries(path));
  for (const char* key : {"Tr", "Tr_velo_to_cam", "Tr_velo_cam"}) {
    if (entries.count(key) == 0) continue;
    VOXLOC_ASSIGN_OR_RETURN(const Eigen::Matrix4d matrix, MatrixOf(path, entries, key, 3, 4));
    VOXLOC_ASSIGN_OR_RETURN(Pose camera_T_lidar, PoseOf(path, key, matrix));
    for (const char* rectifying : {"R0_rect", "R_rect"}) {
      if (entries.count(rectifying) == 0) continue;
      VOXLOC_ASSIGN_OR_RETURN(const Eigen::Matrix4d rotation,
                              MatrixOf(path, entries, rectifying, 3, 3));
      const absl::StatusOr<Pose> rectified = PoseOf(path, rectifying, rotation);
      if (!rectified.ok()) return rectified.status();
      return *rectified * camera_T_lidar;
    }
    return camera_T_lidar;
  }
  if (entries.count("R") > 0 && entries.count("T") > 0) {
    VOXLOC_ASSIGN_OR_RETURN(Eigen::Matrix4d matrix, MatrixOf(path, entries, "R", 3, 3));
    VOXLOC_ASSIGN_OR_RETURN(const Eigen::Matrix4d translation, MatrixOf(path, entries, "T", 3, 1));
    matrix.topRightCorner<3, 1>() = translation.topLeftCorner<3, 1>();
    return PoseOf(path, "R and T", matrix);
  }
  return Malformed(
      path,
      "a KITTI calibration must have Tr, Tr_velo_to_cam or Tr_velo_cam (12 numbers), or "
      "R and T: the pose of the LiDAR in the camera's axes");
}

absl::StatusOr<std::vector<StampedPose>> ReadPoses(const std::string& path, TrajectoryFormat format,
                                                   const std::string& calibration) {
  absl::StatusOr<std::vector<StampedPose>> poses = ReadTrajectory(path, format);
  if (!poses.ok() || calibration.empty()) return poses;
  VOXLOC_ASSIGN_OR_RETURN(const Pose camera_T_lidar, ReadKittiCalibration(calibration));
  const Pose lidar_T_camera = camera_T_lidar.Inverse();
  for (StampedPose& stamped : *poses) {
    stamped.pose = lidar_T_camera * stamped.pose * camera_T_lidar;
  }
  return poses;
}

std::optional<std::string> AxesWarning(const std::vector<StampedPose>& poses) {
  double distance_m = 0.0;
  double along_z_m = 0.0;
  for (size_t i = 1; i < poses.size(); ++i) {
    const Pose& from = poses[i - 1].pose;
    const Eigen::Vector3d step =
        from.rotation.conjugate() * (poses[i].pose.translation - from.translation);
    distance_m += step.norm();
    along_z_m += std::abs(step.z());
  }
  if (distance_m < kMinDistance_m || along_z_m < kCameraShare * distance_m) return std::nullopt;
  return absl::StrFormat(
      "the poses move along their own z axis for %.0f of %.0f m, as a camera's do, so that the map "
      "would lie on its side; --calib takes KITTI's calibration of camera and LiDAR, "
      "--base-t-sensor another mount",
      along_z_m, distance_m);
}

std::optional<int64_t> NanosecondsFromSeconds(absl::string_view seconds) {
  constexpr int kMaxExponent = 1000;
  const bool negative = absl::ConsumePrefix(&seconds, "-");
  if (!negative) absl::ConsumePrefix(&seconds, "+");
  const size_t e = std::min(seconds.find_first_of("eE"), seconds.size());
  int exponent = 0;
  if (e < seconds.size() && (!absl::SimpleAtoi(seconds.substr(e + 1), &exponent) ||
                             exponent > kMaxExponent || exponent < -kMaxExponent)) {
    return std::nullopt;
  }
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(seconds.substr(0, e), absl::MaxSplits('.', 1));
  std::string digits = absl::StrCat(parts.first, parts.second);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit)) {
    return std::nullopt;
  }
  // The nanoseconds are the digits up to nine places after the point.
  const int count = static_cast<int>(parts.first.size()) + exponent + 9;
  digits.resize(static_cast<size_t>(std::max(count, 0)), '0');
  int64_t nanoseconds = 0;
  if (!digits.empty() && !absl::SimpleAtoi(digits, &nanoseconds)) return std::nullopt;
  return negative ? -nanoseconds : nanoseconds;
}

std::string NumberText(double value) {
  char buffer[32];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

std::string SecondsFromNanoseconds(int64_t stamp_ns) {
  const uint64_t magnitude =
      stamp_ns < 0 ? ~static_cast<uint64_t>(stamp_ns) + 1 : static_cast<uint64_t>(stamp_ns);
  return absl::StrFormat("%s%d.%09d", stamp_ns < 0 ? "-" : "", magnitude / 1'000'000'000,
                         magnitude % 1'000'000'000);
}

}  // namespace voxloc
