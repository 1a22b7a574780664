// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/replay_input.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cpp/messages.h"
#include "clients/dataset/bag/pose_source.h"
#include "clients/dataset/timed_pcd.h"
#include "clients/dataset/trajectory_file.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// The defaults of v1::FusionOptions: share of the way, and radians a metre.
constexpr double kOdometryScaleSigma = 0.02;
constexpr double kOdometryRotationSigma = 0.001;

}  // namespace

absl::StatusOr<ReplayInput> ReadReplayInput(const ReplayFiles& files) {
  VOXLOC_ASSIGN_OR_RETURN(const TrajectoryFormat format, TrajectoryFormatNamed(files.pose_format));
  ReplayInput input;
  VOXLOC_ASSIGN_OR_RETURN(input.scans, ListClouds(files.scans));
  VOXLOC_ASSIGN_OR_RETURN(input.order, PairingOrder(input.scans));
  VOXLOC_ASSIGN_OR_RETURN(input.truth, ReadPoses(files.poses, format, files.calibration));
  const auto check_count = [&](const std::string& file, size_t count, const char* what) {
    if (count == input.scans.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(files.scans, " has ", input.scans.size(),
                                                   " scans, but ", file, " has ", count, what,
                                                   "; there must be one for each"));
  };
  VOXLOC_TRY(check_count(files.poses, input.truth.size(), " poses"));
  if (!files.guesses.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(const std::vector<StampedPose> guesses,
                            ReadPoses(files.guesses, format, files.calibration));
    VOXLOC_TRY(check_count(files.guesses, guesses.size(), " guesses"));
    for (const StampedPose& guess : guesses) input.guesses.push_back(guess.pose);
  }
  if (files.max_scans > 0 && files.max_scans < input.scans.size()) {
    input.scans.resize(files.max_scans);
    input.truth.resize(files.max_scans);
    if (!input.guesses.empty()) input.guesses.resize(files.max_scans);
  }
  input.notes.remarks = DescribeClouds(input.scans, files.read);
  input.notes.remarks.push_back(absl::StrCat("poses are paired with the scans ", input.order));
  if (!files.calibration.empty()) {
    input.notes.remarks.push_back(absl::StrCat(
        "the poses are a camera's, and are moved to the LiDAR by ", files.calibration));
  } else if (std::optional<std::string> warning = AxesWarning(input.truth); warning.has_value()) {
    input.notes.warnings.push_back(*std::move(warning));
  }
  return input;
}

absl::Status ReadOdometry(const std::string& path, ReplayInput* input) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<StampedPose> poses,
                          ReadTrajectory(path, TrajectoryFormat::kTum));
  bag::PoseTrack track;
  for (const StampedPose& pose : poses) VOXLOC_TRY(track.Add(pose.stamp_ns, pose.pose));
  track.Finish();
  input->odometry.clear();
  for (size_t i = 0; i < input->scans.size(); ++i) {
    const int64_t stamp_ns = input->truth[i].stamp_ns;
    const std::optional<Pose> odom_T_base = track.At(stamp_ns);
    if (!odom_T_base.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, " must have a pose at every scan's stamp, or two around it at most ",
          bag::kMaxPoseGap_ns / 1'000'000'000, " s apart (got none for ", input->scans[i], " at ",
          SecondsFromNanoseconds(stamp_ns), " s; its poses are from ",
          SecondsFromNanoseconds(track.poses().front().stamp_ns), " to ",
          SecondsFromNanoseconds(track.poses().back().stamp_ns), " s)"));
    }
    input->odometry.push_back(*odom_T_base);
  }
  return absl::OkStatus();
}

Pose GuessSource::GuessFor(size_t index, const std::optional<Pose>& previous) const {
  const bool carried = kind_ == Kind::kOdometry;
  const size_t from = carried ? 0 : index;
  const bool of_file = kind_ == Kind::kFile || (carried && !input_.guesses.empty());
  Pose guess = of_file ? input_.guesses[from] : input_.truth[from].pose;
  if (kind_ == Kind::kPrevious && previous.has_value()) guess = *previous;
  if (perturbation_.has_value()) guess = Perturb(guess, *perturbation_, seed_, from);
  return carried ? input_.CarryByOdometry(guess, from, index) : guess;
}

Matrix6 GuessSource::CovarianceFor(size_t index, const Matrix6& given) const {
  if (kind_ != Kind::kOdometry || index == 0) return given;
  const double distance_m = TranslationDistance(input_.odometry[0], input_.odometry[index]);
  Vector6 carried;
  carried << Eigen::Vector3d::Constant(kOdometryScaleSigma * distance_m),
      Eigen::Vector3d::Constant(kOdometryRotationSigma * distance_m);
  return given + Matrix6(carried.cwiseAbs2().asDiagonal());
}

ScanSource FileScans(std::vector<std::string> paths, const CloudReadOptions& read,
                     std::optional<ros::PointTimeChoice> times) {
  return [paths = std::move(paths), read, times = std::move(times),
          next = size_t{0}]() mutable -> absl::StatusOr<SourceScan> {
    const std::string& path = paths[next++];
    SourceScan scan;
    if (times.has_value()) {
      VOXLOC_ASSIGN_OR_RETURN(scan.timed, ReadTimedPcd(path, *times, read));
      VOXLOC_TRY(client::DecodePoints(*scan.timed, &scan.cloud));
    } else {
      VOXLOC_ASSIGN_OR_RETURN(scan.cloud, ReadCloud(path, read));
    }
    return scan;
  };
}

ScanLoader::ScanLoader(ScanSource source, std::vector<std::string> names,
                       const FilterOptions& filter, size_t picture_points, size_t depth)
    : source_(std::move(source)),
      names_(std::move(names)),
      filter_(filter),
      picture_points_(picture_points),
      depth_(depth) {
  if (depth_ > 0) thread_ = std::thread([this] { Run(); });
}

ScanLoader::~ScanLoader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<LoadedScan> ScanLoader::Load() {
  const std::string& name = names_[next_++];
  VOXLOC_ASSIGN_OR_RETURN(SourceScan source, source_());
  LoadedScan scan;
  if (picture_points_ > 0) {
    FilterOptions picture = filter_;
    picture.voxel_leaf_m = 0.0;
    picture.max_points = picture_points_;
    absl::StatusOr<FilteredCloud> chosen = FilterCloud(source.cloud, picture);
    if (chosen.ok()) scan.picture = std::move(chosen->cloud);
  }
  if (source.timed.has_value()) {
    scan.timed = *std::move(source.timed);
    return scan;
  }
  VOXLOC_ASSIGN_OR_RETURN(scan.cloud, FilterScan(name, source.cloud, filter_));
  return scan;
}

void ScanLoader::Run() {
  while (next_ < names_.size()) {
    absl::StatusOr<LoadedScan> scan = Load();
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || ready_.size() < depth_; });
    if (stopping_) return;
    if (scan.ok()) {
      ready_.push_back(*std::move(scan));
    } else {
      error_ = scan.status();
    }
    changed_.notify_all();
    if (!error_.ok()) return;
  }
}

absl::StatusOr<LoadedScan> ScanLoader::Next() {
  if (depth_ == 0) return Load();
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || !error_.ok(); });
  if (ready_.empty()) return error_;
  LoadedScan scan = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return scan;
}

}  // namespace voxloc::cli
