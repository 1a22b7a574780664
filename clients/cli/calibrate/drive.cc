// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/calibrate/drive.h"

#include <optional>
#include <utility>

#include "clients/cli/calibrate/drive_answers.h"
#include "clients/cli/output/result_text.h"
#include "clients/cpp/messages.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

struct Answer {
  bool accepted = false;
  std::optional<UncertainPose> observed;  // with a covariance, and no axis unobserved
  Pose map_T_base;
};

class DriveRunner {
 public:
  DriveRunner(const DriveOptions& options, client::LocalizationSession& session)
      : options_(options), session_(session) {}

  absl::Status Add(const DriveScan& scan) {
    VOXLOC_ASSIGN_OR_RETURN(const PointCloud cloud, ReadScan(scan.path, options_.scan));
    VOXLOC_ASSIGN_OR_RETURN(const Answer whole, Align(scan, cloud, GuessFor(scan)));
    if (!whole.accepted) return absl::OkStatus();
    ++answers_.accepted;
    last_map_T_base_ = whole.map_T_base;
    last_odometry_T_base_ = scan.odometry_T_base;
    if (!whole.observed.has_value()) return absl::OkStatus();
    answers_.scans.push_back({scan.stamp_ns, scan.odometry_T_base, *whole.observed});
    return AddHalves(scan, cloud, whole.map_T_base);
  }

  DriveAnswers TakeAnswers() { return std::move(answers_); }

 private:
  Pose GuessFor(const DriveScan& scan) const {
    if (!last_map_T_base_.has_value()) return options_.first_guess_map_T_base;
    return *last_map_T_base_ * (last_odometry_T_base_.Inverse() * scan.odometry_T_base);
  }

  absl::Status AddHalves(const DriveScan& scan, const PointCloud& cloud, const Pose& map_T_base) {
    const auto [first, second] = CutInHalves(cloud);
    if (first.empty() || second.empty()) return absl::OkStatus();
    VOXLOC_ASSIGN_OR_RETURN(const Answer one, Align(scan, first, map_T_base));
    VOXLOC_ASSIGN_OR_RETURN(const Answer other, Align(scan, second, map_T_base));
    if (one.accepted && other.accepted && one.observed.has_value() && other.observed.has_value()) {
      answers_.halves.push_back({*one.observed, *other.observed});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Answer> Align(const DriveScan& scan, const PointCloud& cloud, const Pose& guess) {
    client::ScanInput message;
    message.stamp_ns = scan.stamp_ns;
    message.cloud = &cloud;
    message.guess_map_T_base = guess;
    VOXLOC_ASSIGN_OR_RETURN(const uint64_t sequence, session_.Send(message));
    VOXLOC_ASSIGN_OR_RETURN(const v1::AlignmentResult result,
                            session_.ReceiveResultOf(sequence, options_.timeout_s));
    Answer answer;
    if (!result.accepted() || !result.has_map_t_base()) return answer;
    VOXLOC_ASSIGN_OR_RETURN(const Pose pose, client::DecodePose(result.map_t_base().pose()));
    answer.accepted = true;
    answer.map_T_base = pose;
    if (result.map_t_base().covariance_size() == 36 && UnobservedAxes(result).empty()) {
      using RowMajor6 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;
      answer.observed = {pose,
                         Eigen::Map<const RowMajor6>(result.map_t_base().covariance().data())};
    }
    return answer;
  }

  const DriveOptions& options_;
  client::LocalizationSession& session_;
  DriveAnswers answers_;
  std::optional<Pose> last_map_T_base_;
  Pose last_odometry_T_base_;
};

}  // namespace

absl::StatusOr<DriveAnswers> RunDrive(const std::vector<DriveScan>& scans,
                                      const DriveOptions& options,
                                      client::LocalizationSession* session) {
  DriveRunner runner(options, *session);
  for (size_t i = 0; i < scans.size(); ++i) {
    VOXLOC_TRY(runner.Add(scans[i]));
    if (options.on_scan) options.on_scan(i + 1);
  }
  return runner.TakeAnswers();
}

}  // namespace voxloc::cli
