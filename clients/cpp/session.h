// SPDX-License-Identifier: Apache-2.0
//
// A vehicle's session: scans in, results out.
//
// Every scan that Send accepts has exactly one result, usually the server's. The session makes the
// result itself, and counts it in given_up, if a newer scan replaced one that was not yet written
// to a slow connection (SUPERSEDED), or if the connection was lost and there is a newer scan
// (STALE).
//
// The session reconnects with exponential backoff if the server becomes unavailable, if the server
// ended it because it was idle, or if a proxy lost the server. It then resends the newest
// unanswered scan. Until a scan is accepted again, scans with neither a guess nor two poses get the
// last accepted pose as guess, propagated by the odometry if both scans have it. With a filter
// (OpenSession.fusion) it is the filter's pose, until a result has one again; where the odometry
// propagates it, with its covariance. If the server is
// full or does not have the map yet, the session retries there or at another server. A draining
// server answers the scans that it has, and the session then moves to another server. Any other
// error, such as Unauthenticated or PermissionDenied, and the last failed attempt end the session;
// Receive then returns the results that have arrived, and the error after them. Activation and
// changes of the setup are restored after a reconnect; poses and references are not.
//
// With several addresses, the next one is tried at once after a lost connection, a rejection, a
// drain, or a timeout of `open`. After all of them were tried the session waits, at least for the
// shortest retry delay that they gave. All addresses together count as one attempt of
// ReconnectOptions. Open tries each once. With one address, a server that drained is retried once
// at once, because another one may have the same name, and then after the delay that it gave.
//
// Threads: the session has one, which reads, and writes what could not be written at once, so that
// sending never waits for the connection. All methods are thread-safe. The destructor cancels the
// stream and joins. `on_result` avoids a thread switch: it is called on that thread, and by Send
// for a scan that was replaced. It may call Send, but must neither close nor destroy the session;
// while it runs nothing is read, and at most one message is written.

#ifndef VOXLOC_CLIENTS_CPP_SESSION_H_
#define VOXLOC_CLIENTS_CPP_SESSION_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cpp/backoff.h"
#include "clients/cpp/channel.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/covariance.h"
#include "core/geometry/pose.h"
#include "core/geometry/twist.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::client {

// A timeout that is over at once, for calls to which 0 means no limit.
inline constexpr double kNoWait_s = 1e-9;

struct SessionOptions {
  // What the session is opened with: map, vehicle, profile, filters, limits.
  v1::OpenSession open;
  // For the answer to `open`, also when reconnecting. 0: no limit.
  double open_timeout_s = 10.0;
  ReconnectOptions reconnect;
  // Send rejects a scan while this many are unanswered or not received.
  size_t max_outstanding = 256;
  // If set, receives every result, in the order of completion; Receive then returns none.
  std::function<void(const v1::AlignmentResult&)> on_result;
};

// A scan to send. The cloud is copied into the message. Exactly one of `cloud` and `encoded_cloud`
// is required.
struct ScanInput {
  int64_t stamp_ns = 0;
  const PointCloud* cloud = nullptr;         // in the sensor's frame
  const v1::Cloud* encoded_cloud = nullptr;  // the same, as EncodeCloud writes it
  std::optional<Pose> guess_map_T_base;      // nullopt: from the session's poses
  double timeout_s = 0.0;                    // 0: the session's
  std::optional<Matrix6> guess_covariance;   // about fixed map axes; only with a guess
  // The vehicle's odometry at the stamp: the result then has map_t_odom, which remains valid even
  // if the result is late.
  std::optional<Pose> odom_T_base;
  std::optional<Twist> base_twist;  // at the stamp, for clouds whose points have times
  double age_s = 0.0;               // from the stamp to now by the vehicle's clock; 0: not known
};

class LocalizationSession {
 public:
  // Waits until the session is open. Unavailable: the server cannot be reached; DeadlineExceeded:
  // it does not answer; else what the server says (NotFound: no such map, ...).
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<LocalizationSession>> Open(
      const Channel& channel, const SessionOptions& options);
  // The same without waiting: scans may be sent at once, and the newest is kept until the session
  // is open. AwaitEnd returns the error that Open would have returned.
  [[nodiscard]] static std::unique_ptr<LocalizationSession> Start(const Channel& channel,
                                                                  const SessionOptions& options);
  ~LocalizationSession();
  LocalizationSession(const LocalizationSession&) = delete;
  LocalizationSession& operator=(const LocalizationSession&) = delete;

  // What the server said when the session was last opened; empty before that.
  [[nodiscard]] v1::SessionOpened opened() const;

  // How often the session was opened again.
  [[nodiscard]] int reconnects() const;

  // Results without a matching scan: unknown sequence, or already answered. They are dropped.
  [[nodiscard]] uint64_t unexpected_results() const;

  // OK while the session is open; while it reconnects, the cause; after its end, the final status.
  [[nodiscard]] absl::Status connection() const;

  // Scans whose result the session made itself.
  [[nodiscard]] uint64_t given_up() const;

  // Queues a scan and returns its sequence number, counted from 1. Does not block. While the
  // session reconnects, only the newest scan is kept. InvalidArgument: not one cloud, a message
  // over the server's limit. ResourceExhausted: too many outstanding. Otherwise the error that
  // ended the session.
  [[nodiscard]] absl::StatusOr<uint64_t> Send(const ScanInput& scan);
  // The same of a message that the caller has made, with what ScanInput does not have (several
  // clouds, poses, a reference position). Its sequence is set here.
  [[nodiscard]] absl::StatusOr<uint64_t> Send(v1::Scan scan);

  // Poses of the vehicle from odometry or a filter, for the guesses of scans that bring none, and
  // reference positions such as GNSS, for the regularization. Dropped while the session reconnects.
  // An error is the one that ended the session; rejections by the server are in TakeRejection.
  absl::Status SendPose(int64_t stamp_ns, const Pose& map_T_base,
                        const std::optional<Matrix6>& covariance = std::nullopt);
  absl::Status SendReference(int64_t stamp_ns, const Eigen::Vector3d& position_map);

  // Activates or deactivates the session for the scans sent from now on.
  absl::Status Activate(bool active);

  // Changes the fields that are set in `setup` (see v1::ConfigureSession) for the scans sent from
  // now on, also after a reconnect. If the server rejects the change, nothing changes, and
  // TakeRejection returns the rejection.
  absl::Status Configure(const v1::ScanSetup& setup);

  // Removes and returns the oldest rejection of a message. The newest 64 are kept.
  [[nodiscard]] std::optional<v1::RequestRejected> TakeRejection();

  // The next result, in the order of completion. DeadlineExceeded: none within `timeout_s` (0: no
  // limit). OutOfRange: the session was closed and all results were received. Otherwise the error
  // that ended the session.
  [[nodiscard]] absl::StatusOr<v1::AlignmentResult> Receive(double timeout_s);

  // The result of one scan; others stay for later calls.
  [[nodiscard]] absl::StatusOr<v1::AlignmentResult> ReceiveResultOf(uint64_t sequence,
                                                                    double timeout_s);

  // How the session ended: OK after Close, otherwise the error. nullopt: it has not within
  // `timeout_s` (0: no limit).
  [[nodiscard]] std::optional<absl::Status> AwaitEnd(double timeout_s);

  // Ends the session once the server has answered every scan; their results can still be received.
  // Cancels and returns DeadlineExceeded when that takes longer than `timeout_s` (0: no limit).
  absl::Status Close(double timeout_s);

 private:
  struct Impl;
  explicit LocalizationSession(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_SESSION_H_
