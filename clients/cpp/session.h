// SPDX-License-Identifier: Apache-2.0
//
// A vehicle's session: scans in, results out.
//
// Every scan that Send has taken has exactly one result. Usually it is the server's answer. The
// session makes it itself, and counts it in given_up, where a newer scan has taken the place of one
// that the connection was too slow for (SUPERSEDED), and where the connection was lost and a newer
// scan was there (STALE).
//
// When the server becomes unavailable, the session opens again with growing waits, sends the newest
// unanswered scan once more, and gives scans that have neither a guess nor two poses the last
// accepted pose as their guess, carried on by the odometry where both scans have it, until the new
// session has accepted a scan. A server that refuses the new session because it is full, or does
// not have the map yet, is asked again, or another one in its place. When the server drains, it
// answers what it has, and the session then opens elsewhere. A session that the server has ended
// because its vehicle had nothing to send for long opens again too, and so does one that a proxy
// has cut off because it lost the server. Any other error ends the session, such as Unauthenticated
// and PermissionDenied, as does the last failed attempt; Receive then hands out what has arrived,
// and the error after that. A session that was activated or deactivated is so again once it is open
// again, and so are changes of its setup; poses and references that were sent are forgotten.
//
// Where the channel has several addresses, the next one is tried at once after a loss, a refusal, a
// drain, or an `open` that is not answered in time, and the session waits when each has been tried:
// at least as long as the server that asked for the least. All addresses together are one attempt
// of ReconnectOptions. Open tries each once. With one address, a server that drained is tried once
// more at once, since another one may be behind the same name, and then gets the time that it asked
// for.
//
// Threads: one thread of the session's own reads, and one writes, so that no method waits for the
// connection. All methods are safe from any thread. The destructor cancels what is open and joins.
// `on_result` spares the step from the reading thread to another: it is called by the reading
// thread, and by Send for a scan that is given up. It may send, and must neither close nor destroy
// the session.

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

struct SessionOptions {
  // What the session is opened with: map, vehicle, profile, filters, limits.
  v1::OpenSession open;
  // For the answer to `open`, also when reconnecting. 0: no limit.
  double open_timeout_s = 10.0;
  ReconnectOptions reconnect;
  // Send refuses a scan while this many are unanswered or not received.
  size_t max_outstanding = 256;
  // Takes every result, in the order of completion, and leaves none for Receive.
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
  // By the vehicle's own odometry, at the stamp: the answer then has map_t_odom, which stays right
  // when it is late.
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
  // The same without waiting: scans may be sent at once, of which the newest is kept until the
  // session is open. AwaitEnd tells of an error that Open would have returned.
  [[nodiscard]] static std::unique_ptr<LocalizationSession> Start(const Channel& channel,
                                                                  const SessionOptions& options);
  ~LocalizationSession();
  LocalizationSession(const LocalizationSession&) = delete;
  LocalizationSession& operator=(const LocalizationSession&) = delete;

  // What the server said when the session was last opened; empty before that.
  [[nodiscard]] v1::SessionOpened opened() const;

  // How often the session was opened again.
  [[nodiscard]] int reconnects() const;

  // Results that no scan was waiting for: none was sent with that sequence, or it was answered
  // before. They are dropped.
  [[nodiscard]] uint64_t unexpected_results() const;

  // OK while the session is open: while it reconnects, why it has to, and once it has ended, how it
  // ended.
  [[nodiscard]] absl::Status connection() const;

  // Scans whose result the session made itself.
  [[nodiscard]] uint64_t given_up() const;

  // Hands a scan over; returns its sequence number, counted from 1. Waits for nothing. While the
  // session reconnects, the newest scan is kept.
  // InvalidArgument: not one cloud, a message over the server's limit. ResourceExhausted: too many
  // outstanding. Otherwise the error that ended the session.
  [[nodiscard]] absl::StatusOr<uint64_t> Send(const ScanInput& scan);
  // The same of a message that the caller has made, with what ScanInput does not have (several
  // clouds, poses, a reference position). Its sequence is set here.
  [[nodiscard]] absl::StatusOr<uint64_t> Send(v1::Scan scan);

  // Poses of the vehicle from odometry or a filter, for the guesses of scans that bring none, and
  // reference positions such as GNSS, for the regularization. Dropped while the session reconnects.
  // An error is the one that ended the session; what the server thinks of them, TakeRejection
  // tells.
  absl::Status SendPose(int64_t stamp_ns, const Pose& map_T_base,
                        const std::optional<Matrix6>& covariance = std::nullopt);
  absl::Status SendReference(int64_t stamp_ns, const Eigen::Vector3d& position_map);

  // Activates or deactivates the session for the scans sent from now on.
  absl::Status Activate(bool active);

  // Changes the fields that are set in `setup` (see v1::ConfigureSession) for the scans sent from
  // now on; a session that opens again is changed likewise. What the server does not take,
  // TakeRejection tells, and nothing has changed.
  absl::Status Configure(const v1::ScanSetup& setup);

  // The oldest message that the server has not taken; each once. Up to 64 wait, the newest.
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
