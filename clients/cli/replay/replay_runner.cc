// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/replay_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/map/map_cells.h"
#include "clients/cpp/map_client.h"
#include "clients/cpp/messages.h"
#include "clients/cpp/score_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

using Clock = std::chrono::steady_clock;

// A session interpolates between two poses: the first one is sent twice, this long before its scan
// and at it. The time between the scans of a LiDAR of 10 Hz.
constexpr int64_t kFirstPoseLead_ns = 100'000'000;

// Poses farther apart show no motion: those of a bag are interpolated as far.
constexpr double kMaxMotionInterval_s = 1.0;

// How the vehicle moves around a scan, by the poses of the scans before and after it: its odometry,
// the guesses, which it knows as well, or the truth.
std::optional<Twist> TwistAround(const ReplayInput& input, size_t index) {
  const size_t from = index == 0 ? 0 : index - 1;
  const size_t to = std::min(index + 1, input.truth.size() - 1);
  const double duration_s =
      1e-9 * static_cast<double>(input.truth[to].stamp_ns - input.truth[from].stamp_ns);
  if (!(duration_s > 0.0 && duration_s <= kMaxMotionInterval_s)) return std::nullopt;
  const auto pose = [&input](size_t i) {
    if (!input.odometry.empty()) return input.odometry[i];
    return input.guesses.empty() ? input.truth[i].pose : input.guesses[i];
  };
  return MeanTwist(pose(from), pose(to), duration_s);
}

// How often it is asked whether to end early while an answer is waited for.
constexpr double kStopPoll_s = 0.1;

double SecondsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// A scan in flight.
struct InFlight {
  size_t index = 0;
  Clock::time_point sent;
  PointCloud picture;
};

class Runner {
 public:
  Runner(const ReplayInput& input, const GuessSource& guesses, const ReplayOptions& options,
         ScanLoader* loader, client::LocalizationSession* session)
      : input_(input),
        guesses_(guesses),
        options_(options),
        loader_(*loader),
        session_(*session),
        rows_(input.scans.size()) {}

  absl::Status ClosedLoop() {
    for (size_t i = 0; i < rows_.size(); ++i) {
      VOXLOC_TRY(SendNext(i));
      VOXLOC_TRY(ReceiveNext());
    }
    return absl::OkStatus();
  }

  absl::Status OpenLoop() {
    absl::Status received;
    std::thread receiver([this, &received] {
      for (size_t i = 0; i < rows_.size() && received.ok(); ++i) received = ReceiveSent(i);
      if (!received.ok()) receiver_failed_ = true;
    });
    absl::Status sent;
    for (size_t i = 0; i < rows_.size() && sent.ok() && !receiver_failed_; ++i) {
      const auto due = std::chrono::duration<double>(static_cast<double>(i) / options_.rate_hz);
      sent = AwaitDue(start_ + std::chrono::duration_cast<Clock::duration>(due));
      if (sent.ok()) sent = SendNext(i);
      SetSent(i + 1, !sent.ok());
    }
    receiver.join();
    // An error of the receiver comes first: it is usually the cause of the sender's error.
    return received.ok() ? sent : received;
  }

  // Those up to the last that was answered.
  std::vector<ReplayRow> TakeRows() {
    while (!rows_.empty() && rows_.back().status.empty()) rows_.pop_back();
    for (ReplayRow& row : rows_) {
      if (row.status.empty()) row.status = "UNANSWERED";
    }
    return std::move(rows_);
  }

 private:
  // As a pose of the session.
  absl::Status SendGuess(const ReplayRow& row) {
    if (row.index == 0) {
      VOXLOC_TRY(session_.SendPose(row.stamp_ns - kFirstPoseLead_ns, *row.guess_map_T_base,
                                   options_.guess_covariance));
    }
    return session_.SendPose(row.stamp_ns, *row.guess_map_T_base, options_.guess_covariance);
  }

  // Up to the first that is not before the scan.
  absl::Status SendReferences(int64_t stamp_ns) {
    while (next_reference_ < options_.references.size() &&
           (next_reference_ == 0 || options_.references[next_reference_ - 1].stamp_ns < stamp_ns)) {
      const StampedPose& reference = options_.references[next_reference_++];
      VOXLOC_TRY(session_.SendReference(reference.stamp_ns, reference.pose.translation));
    }
    return absl::OkStatus();
  }

  [[nodiscard]] absl::Status Stopped() const {
    return options_.stop && options_.stop() ? absl::CancelledError("interrupted")
                                            : absl::OkStatus();
  }

  absl::Status AwaitDue(Clock::time_point due) {
    constexpr std::chrono::duration<double> kPoll(kStopPoll_s);
    while (Clock::now() < due && !receiver_failed_) {
      VOXLOC_TRY(Stopped());
      std::this_thread::sleep_until(
          std::min(due, Clock::now() + std::chrono::duration_cast<Clock::duration>(kPoll)));
    }
    return absl::OkStatus();
  }

  // The next result, as Receive.
  absl::StatusOr<v1::AlignmentResult> Receive() {
    const Clock::time_point begin = Clock::now();
    while (true) {
      const double left_s = options_.timeout_s - SecondsBetween(begin, Clock::now());
      const bool last = options_.timeout_s > 0.0 && left_s <= kStopPoll_s;
      absl::StatusOr<v1::AlignmentResult> result =
          session_.Receive(last ? std::max(left_s, client::kNoWait_s) : kStopPoll_s);
      // The end of the session may be a deadline of its own.
      if (last || !absl::IsDeadlineExceeded(result.status()) ||
          session_.AwaitEnd(client::kNoWait_s).has_value()) {
        return result;
      }
      VOXLOC_TRY(Stopped());
    }
  }

  absl::Status SendNext(size_t index) {
    VOXLOC_TRY(Stopped());
    VOXLOC_ASSIGN_OR_RETURN(LoadedScan scan, loader_.Next());
    ReplayRow& row = rows_[index];
    row.index = index;
    row.file = input_.scans[index].substr(input_.scans[index].find_last_of('/') + 1);
    row.stamp_ns = input_.truth[index].stamp_ns;
    row.truth_map_T_base = input_.truth[index].pose;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!guesses_.IsLeftToServer(server_knows_)) {
        row.guess_map_T_base = guesses_.GuessFor(index, previous_);
      }
    }
    client::ScanInput message;
    message.stamp_ns = row.stamp_ns;
    if (scan.timed.has_value()) {
      message.encoded_cloud = &*scan.timed;
      message.base_twist = TwistAround(input_, index);
    } else {
      message.cloud = &scan.cloud;
    }
    if (!input_.odometry.empty()) {
      message.odom_T_base = input_.odometry[index];
      row.dead_reckoned_map_T_base = input_.CarryByOdometry(input_.truth[0].pose, 0, index);
    }
    VOXLOC_TRY(SendReferences(row.stamp_ns));
    if (options_.session_poses && row.guess_map_T_base.has_value()) {
      VOXLOC_TRY(SendGuess(row));
    } else {
      message.guess_map_T_base = row.guess_map_T_base;
      if (row.guess_map_T_base.has_value() && options_.guess_covariance.has_value()) {
        message.guess_covariance = guesses_.CovarianceFor(index, *options_.guess_covariance);
      }
    }
    const Clock::time_point now = Clock::now();
    row.sent_s = SecondsBetween(start_, now);
    {
      // Sequences count from 1 in the order of sending; the reply may come before Send returns.
      const std::lock_guard<std::mutex> lock(mutex_);
      in_flight_[index + 1] = {index, now, std::move(scan.picture)};
    }
    return session_.Send(message).status();
  }

  absl::Status ReceiveNext() {
    VOXLOC_ASSIGN_OR_RETURN(const v1::AlignmentResult result, Receive());
    const Clock::time_point arrived = Clock::now();
    InFlight scan;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = in_flight_.find(result.sequence());
      if (found == in_flight_.end()) {
        return absl::InternalError(
            absl::StrCat("a result of scan ", result.sequence(), ", which was not sent"));
      }
      scan = std::move(found->second);
      in_flight_.erase(found);
    }
    ReplayRow& row = rows_[scan.index];
    FillRow(result, 1e3 * SecondsBetween(scan.sent, arrived), &row);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      server_knows_ = server_knows_ || row.accepted || row.fused.has_value();
      if (row.map_T_base.has_value() && (!previous_.has_value() || scan.index >= previous_index_)) {
        previous_ = row.map_T_base;
        previous_index_ = scan.index;
      }
    }
    if (options_.on_reply) options_.on_reply(row, scan.picture);
    row.result.clear_aligned_cloud();
    return absl::OkStatus();
  }

  // The reply number `count`, once that many scans were sent: the wait for the sending is not part
  // of the answer's timeout.
  absl::Status ReceiveSent(size_t count) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this, count] { return sent_ > count || failed_; });
      if (sent_ <= count) return absl::OkStatus();
    }
    return ReceiveNext();
  }

  void SetSent(size_t count, bool failed) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failed_ = failed;
    if (!failed) sent_ = count;
    changed_.notify_all();
  }

  const ReplayInput& input_;
  const GuessSource& guesses_;
  const ReplayOptions& options_;
  ScanLoader& loader_;
  client::LocalizationSession& session_;
  const Clock::time_point start_ = Clock::now();
  size_t next_reference_ = 0;    // of the sender
  std::vector<ReplayRow> rows_;  // each is written by the sender, then by the receiver

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, InFlight> in_flight_;
  std::optional<Pose> previous_;
  size_t previous_index_ = 0;
  bool server_knows_ = false;  // a pose that it carries on
  size_t sent_ = 0;
  bool failed_ = false;
  std::atomic<bool> receiver_failed_{false};
};

// What a view from 40 m around a vehicle shows of a street; scans reach farther, with few points.
constexpr double kViewRadius_m = 40.0;
// Down to the foot of an embankment and up to the roof of a hall.
constexpr double kViewHeight_m = 30.0;
// Cells of 0.25 m that fill a box of 80 m by 80 m twice; more are not worth the wait.
constexpr size_t kMaxReceivedCells = 200'000;

absl::StatusOr<std::vector<ViewCell>> CellsAround(const client::MapClient& maps,
                                                  const ScanViewSetting& setting,
                                                  const Eigen::Vector3d& middle_map,
                                                  double* cell_size_m) {
  v1::GetCellsRequest request;
  request.set_map(setting.setup.map());
  request.set_profile(setting.profile.name());
  request.set_stage(setting.profile.score_stage());
  const Eigen::Vector3d reach(kViewRadius_m, kViewRadius_m, kViewHeight_m);
  client::EncodeVector(middle_map - reach, request.mutable_region()->mutable_min());
  client::EncodeVector(middle_map + reach, request.mutable_region()->mutable_max());
  std::vector<ViewCell> cells;
  const auto append = [&cells](const MapCell& cell) {
    if (cells.size() >= kMaxReceivedCells) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a scan must have at most ", kMaxReceivedCells, " cells around it"));
    }
    cells.push_back({cell.mean_map, cell.covariance_map});
    return absl::OkStatus();
  };
  const auto receive = [&append, cell_size_m](const v1::GetCellsResponse& part) {
    *cell_size_m = part.cell_size_m();
    return ForEachCell(part, append);
  };
  VOXLOC_TRY(maps.GetCells(request, receive, setting.timeout_s).status());
  return cells;
}

absl::StatusOr<std::vector<float>> ScoresAt(const client::Channel& channel,
                                            const ScanViewSetting& setting, const PointCloud& cloud,
                                            const Pose& map_T_base) {
  v1::ScoreSetup request;
  *request.mutable_setup() = setting.setup;
  // Scoring takes nothing else of what a session asks for.
  request.mutable_setup()->clear_output();
  request.mutable_setup()->mutable_output()->set_point_scores(true);
  client::EncodeCloud(cloud, request.mutable_scan()->add_clouds()->mutable_cloud());
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<client::ScoreClient> scorer,
                          client::ScoreClient::Open(channel, request, setting.timeout_s));
  VOXLOC_ASSIGN_OR_RETURN(const v1::PoseScores scores, scorer->Score({map_T_base}));
  if (static_cast<size_t>(scores.point_scores_size()) != cloud.size()) {
    return absl::InternalError(absl::StrCat("the server scored ", scores.point_scores_size(),
                                            " of ", cloud.size(), " points"));
  }
  return std::vector<float>(scores.point_scores().begin(), scores.point_scores().end());
}

}  // namespace

ReplayOutcome RunReplay(const ReplayInput& input, const GuessSource& guesses,
                        const ReplayOptions& options, ScanLoader* loader,
                        client::LocalizationSession* session) {
  Runner runner(input, guesses, options, loader, session);
  ReplayOutcome outcome;
  outcome.end = options.rate_hz > 0.0 ? runner.OpenLoop() : runner.ClosedLoop();
  outcome.rows = runner.TakeRows();
  return outcome;
}

ScanViews ViewScans(const client::Channel& channel, const ScanViewSetting& setting,
                    const std::vector<ChosenScan>& chosen, const std::vector<ReplayRow>& rows,
                    const Pose& base_T_sensor) {
  const client::MapClient maps(channel);
  ScanViews views;
  views.radius_m = kViewRadius_m;
  for (const ChosenScan& scan : chosen) {
    ScanView view;
    view.index = scan.index;
    view.map_T_base = rows[scan.index].map_T_base.value_or(Pose());
    if (views.cells_missing.empty()) {
      absl::StatusOr<std::vector<ViewCell>> cells =
          CellsAround(maps, setting, view.map_T_base.translation, &views.cell_size_m);
      if (cells.ok()) view.cells = *std::move(cells);
      views.cells_missing = std::string(cells.status().message());
    }
    if (views.scores_missing.empty()) {
      absl::StatusOr<std::vector<float>> scores =
          ScoresAt(channel, setting, scan.cloud, view.map_T_base);
      if (scores.ok()) view.scores = *std::move(scores);
      views.scores_missing = std::string(scores.status().message());
    }
    view.points_base = Transform(base_T_sensor, scan.cloud);
    views.scans.push_back(std::move(view));
  }
  return views;
}

}  // namespace voxloc::cli
