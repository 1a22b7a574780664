// SPDX-License-Identifier: Apache-2.0
//
// ScanWork: one scan from its message to its answer. It answers its client exactly once, or not at
// all when it is destroyed because the client has gone. One thread at a time uses it.

#ifndef VOXLOC_SERVER_SCAN_WORK_H_
#define VOXLOC_SERVER_SCAN_WORK_H_

#include <Eigen/Core>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/runtime.h"
#include "server/scan_preparation.h"
#include "server/scan_recipe.h"
#include "server/scheduler.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/localization_service.pb.h"

namespace voxloc::server {

// What the scans of one client have in common. Shared unchanged by the scans that it holds for.
struct ScanSource {
  std::string session;  // for logs; empty for callers without one
  std::string vehicle;
  std::string map;
  ScanRecipe recipe;
  uint64_t max_points = 0;
  double timeout_s = 0.0;    // of scans that name none; 0: none
  double max_delay_s = 0.0;  // 0: no limit
};

// Who waits for the answer. Called on a worker, or on the thread that submitted the scan.
class ScanClient {
 public:
  virtual ~ScanClient() = default;
  virtual void Answer(std::unique_ptr<v1::AlignmentResult> result) = 0;
  // A fault of the server kept the scan from being answered.
  virtual void Fail(const absl::Status& status) = 0;
};

class ScanWork : public ScanTask {
 public:
  // `scan` is part of `message`, or stays alive by other means where that is null.
  ScanWork(const Runtime& runtime, std::shared_ptr<const ScanSource> source,
           std::shared_ptr<ScanClient> client, std::unique_ptr<google::protobuf::Message> message,
           const v1::Scan& scan, const StopToken& stop);
  ~ScanWork() override;

  // Looks at everything but the points. False: the scan is malformed and has been answered.
  [[nodiscard]] bool Check();

  [[nodiscard]] bool Prepare(AlignJob& job) override;
  void Complete(AlignResult result, const BatchFacts& batch) override;
  void Supersede() override;
  void Refuse(double retry_after_s) override;

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] absl::Status CheckFields();
  // Nothing: the scan can be aligned. Otherwise it has been answered.
  [[nodiscard]] bool FindPlace(AlignJob& job);
  [[nodiscard]] bool PreparePoints(AlignJob& job);
  void AnswerWithout(v1::AlignmentStatus status, absl::string_view detail);
  void AnswerOutOfMap(const Bounds& bounds, double reach_m);
  void Send();
  void CountResult() const;

  const Runtime& runtime_;
  const std::shared_ptr<const ScanSource> source_;
  const std::shared_ptr<ScanClient> client_;
  std::unique_ptr<google::protobuf::Message> message_;
  const v1::Scan* scan_;  // null once the points have been taken
  StopToken stop_;
  const Clock::time_point received_;
  std::unique_ptr<v1::AlignmentResult> result_;

  std::optional<Pose> guess_;
  std::optional<Eigen::Vector3d> reference_;
  MapView map_;
  Profile profile_;  // as it is on the map
  PreparedScan prepared_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCAN_WORK_H_
