// SPDX-License-Identifier: Apache-2.0
//
// Scores poses of one scan against one map, without aligning it. Not thread-safe. Each call waits
// for at most `timeout_s`; after an error every further call returns it. The destructor ends the
// stream.

#ifndef VOXLOC_CLIENTS_CPP_SCORE_CLIENT_H_
#define VOXLOC_CLIENTS_CPP_SCORE_CLIENT_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "core/geometry/pose.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::client {

class ScoreClient {
 public:
  // Opens the stream with map and scan. `timeout_s` 0: no limit.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ScoreClient>> Open(
      const Channel& channel, const v1::ScoreSetup& setup, double timeout_s);
  ~ScoreClient();
  ScoreClient(const ScoreClient&) = delete;
  ScoreClient& operator=(const ScoreClient&) = delete;

  [[nodiscard]] const v1::ScoreReady& ready() const;

  // The scores of all poses, one entry each; sends them in several messages if needed.
  // InvalidArgument: the server rejected the poses; the stream stays usable.
  [[nodiscard]] absl::StatusOr<v1::PoseScores> Score(const std::vector<Pose>& map_T_base);

 private:
  struct Impl;
  explicit ScoreClient(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SCORE_CLIENT_H_
