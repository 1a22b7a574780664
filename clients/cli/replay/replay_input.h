// SPDX-License-Identifier: Apache-2.0
//
// What a replay is made of: scans in order, read from files or a bag and thinned, the true pose of
// each, and where each guess comes from.

#ifndef VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_INPUT_H_
#define VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_INPUT_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/dataset/bag/drive.h"
#include "clients/dataset/cloud_sources.h"
#include "clients/dataset/perturbation.h"
#include "clients/dataset/trajectory_file.h"
#include "clients/pointcloud2/point_cloud2.h"
#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/covariance.h"
#include "voxloc/v1/cloud.pb.h"

namespace voxloc::cli {

struct ReplayFiles {
  std::string scans;    // a directory of clouds, or one cloud
  std::string poses;    // a true map_T_base for each
  std::string guesses;  // a guess for each; empty: none
  std::string pose_format = "kitti";
  std::string calibration;  // KITTI's, with which poses and guesses are its camera's; empty: none
  size_t max_scans = 0;     // 0: all
  CloudReadOptions read;
};

struct ReplayInput {
  std::vector<std::string> scans;  // paths of files, or stamps in a bag
  std::vector<StampedPose> truth;
  std::vector<Pose> guesses;   // empty: not given
  std::vector<Pose> odometry;  // odom_T_base at each scan; empty: not given
  std::string order;           // of the files, which pairs them with the poses, in words
  InputNotes notes;            // on how the files are read, for the user

  // The pose of scan `from` carried on to scan `to` by the odometry, which must be there.
  [[nodiscard]] Pose CarryByOdometry(const Pose& map_T_base, size_t from, size_t to) const {
    return map_T_base * odometry[from].Inverse() * odometry[to];
  }
};

// InvalidArgument: the counts differ, of which the message has both; or PairingOrder's.
[[nodiscard]] absl::StatusOr<ReplayInput> ReadReplayInput(const ReplayFiles& files);

// Fills the odometry of every scan from a file of poses odom_T_base in the format tum, as
// bag::PoseTrack interpolates. InvalidArgument: a scan has none, which the message names.
[[nodiscard]] absl::Status ReadOdometry(const std::string& path, ReplayInput* input);

// Where the search for a scan starts.
class GuessSource {
 public:
  enum class Kind {
    kTruth,
    kPrevious,
    kFile,
    kOdometry,  // the first guess, of the file or the truth, carried on by the odometry
  };

  // `input` must outlive the source.
  GuessSource(const ReplayInput& input, Kind kind, std::optional<Perturbation> perturbation,
              uint64_t seed)
      : input_(input), kind_(kind), perturbation_(std::move(perturbation)), seed_(seed) {}

  // Whether a scan is to be sent without a guess. By odometry the server carries its last accepted
  // answer or its filter's pose on, once it has one: `server_knows`.
  [[nodiscard]] bool IsLeftToServer(bool server_knows) const {
    return kind_ == Kind::kOdometry && server_knows;
  }

  // `given`: of the guesses, about fixed map axes. One that is carried on has errors of the
  // odometry as well: by the distance from the first scan, as much as FusionOptions has by default.
  [[nodiscard]] Matrix6 CovarianceFor(size_t index, const Matrix6& given) const;

  // `previous`: the pose of the newest answer that has one; without any the truth is used.
  [[nodiscard]] Pose GuessFor(size_t index, const std::optional<Pose>& previous) const;

 private:
  const ReplayInput& input_;
  Kind kind_;
  std::optional<Perturbation> perturbation_;
  uint64_t seed_;
};

struct SourceScan {
  PointCloud cloud;                // in its sensor's frame
  std::optional<v1::Cloud> timed;  // the same with the times of its points, where they are wanted
};

// Gives the next scan; to be called once for every scan, by one thread. The error names it.
using ScanSource = std::function<absl::StatusOr<SourceScan>()>;

// With `times`, the files are PCD files with the times of their points; see ReadTimedPcd.
[[nodiscard]] ScanSource FileScans(std::vector<std::string> paths,
                                   const CloudReadOptions& read = {},
                                   std::optional<ros::PointTimeChoice> times = std::nullopt);

struct LoadedScan {
  PointCloud cloud;    // as it is sent
  PointCloud picture;  // a choice of the points before thinning, for the report; may be empty
  // With the times of its points: sent instead of `cloud`, and thinned by the server, which
  // first moves the points to where they were at the stamp.
  std::optional<v1::Cloud> timed;
};

// With a depth, a thread of its own works that many scans ahead, for scans that leave on schedule;
// without, Next does the work, and nothing competes with the server while it aligns. Next is for
// one thread.
class ScanLoader {
 public:
  // `names`: of the scans that `source` gives, for errors. `picture_points`: how many points of
  // each scan the report wants. 0: none.
  ScanLoader(ScanSource source, std::vector<std::string> names, const FilterOptions& filter,
             size_t picture_points, size_t depth);
  ~ScanLoader();
  ScanLoader(const ScanLoader&) = delete;
  ScanLoader& operator=(const ScanLoader&) = delete;

  // The next scan in order, waiting for it. To be called once for every name, or until an error.
  [[nodiscard]] absl::StatusOr<LoadedScan> Next();

 private:
  void Run();
  [[nodiscard]] absl::StatusOr<LoadedScan> Load();

  const ScanSource source_;
  const std::vector<std::string> names_;
  const FilterOptions filter_;
  const size_t picture_points_;
  const size_t depth_;
  size_t next_ = 0;  // of the thread that loads

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<LoadedScan> ready_;
  absl::Status error_;  // of the scan after those that are ready
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPLAY_REPLAY_INPUT_H_
