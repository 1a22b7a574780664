// SPDX-License-Identifier: Apache-2.0
//
// FairQueue: the scans that wait for the engine, and their order.
//
// Scans wait in lanes: one per session, and one per scan without a session. In a full lane the
// newest scan replaces the oldest. Lanes belong to callers; a lane without a caller's name has a
// caller of its own. Scans that may wait (`limit`), and likewise their bytes, are shared out as
//
//   all together have at most          limit,
//   a caller with waiting scans        share = limit / (callers with waiting scans + 1),
//   a lane with waiting scans          share / (lanes of the caller with waiting scans + 1),
//
// where quotients are rounded up. A batch takes one scan of each caller in turn, and of a caller
// one scan of each lane before the second of any.
//
// A lane whose scans are in a batch has its turn until EndTurn, and at most one turn at a time. It
// may enter a second stage, queued elsewhere: estimates that are made after the batch. There
// callers take turns by rounds, one lane per caller and round; a caller with more than its share
// of the lanes there gets no turn here until some of them have ended.
//
// Guarded by its owner's lock. OpenLane, Put and TakeBatch may throw std::bad_alloc, with the
// strong guarantee; the other functions do not allocate.

#ifndef VOXLOC_SERVER_SCHEDULING_FAIR_QUEUE_H_
#define VOXLOC_SERVER_SCHEDULING_FAIR_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/scheduling/scan_task.h"

namespace voxloc::server {

class FairQueue {
 public:
  class Lane;

  FairQueue() = default;
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;
  ~FairQueue();

  // A lane of the caller of this name; empty: of a caller of its own. It holds one scan at least.
  [[nodiscard]] std::shared_ptr<Lane> OpenLane(size_t capacity, absl::string_view caller);

  // Whether the scan may wait, with these limits for all waiting scans.
  [[nodiscard]] bool HasCapacityFor(const Lane& lane, const ScanTask& task, size_t max_scans,
                                    size_t max_bytes) const;
  // About how many scans would be taken before one that is put into the lane now:
  // min(scans(), c + (c + 1) * other waiting callers), where c scans of its caller wait. 0: the
  // lane is full, and it replaces one.
  [[nodiscard]] size_t ScansAhead(const Lane& lane) const;
  // Queues the scan. Returns the one that it replaces, or null.
  [[nodiscard]] std::unique_ptr<ScanTask> Put(const std::shared_ptr<Lane>& lane,
                                              std::unique_ptr<ScanTask>&& task);
  // Closes the lane: nothing may be put into it any more. Returns its oldest waiting scan; call it
  // until it returns null.
  [[nodiscard]] std::unique_ptr<ScanTask> Close(Lane& lane);
  [[nodiscard]] static bool IsClosed(const Lane& lane);

  // Whether no batch can be taken now.
  [[nodiscard]] bool empty() const;
  [[nodiscard]] size_t scans() const { return scans_; }

  // The scans of a lane in a batch, in their order.
  struct Group {
    std::shared_ptr<Lane> lane;
    std::vector<ScanInBatch> scans;
  };
  // The next batch: up to `max_scans`, fewer where `max_points` is reached before or memory runs
  // out. Its lanes have their turn until EndTurn.
  [[nodiscard]] std::vector<Group> TakeBatch(size_t max_scans, size_t max_points);
  void EndTurn(const std::shared_ptr<Lane>& lane);

  // The lane enters the second stage, until EndTurn. A caller's share there is
  // limit / (callers with lanes there + 1). Returns the lane's round; lower rounds come first.
  [[nodiscard]] uint64_t BeginSecondStage(Lane& lane, size_t limit);
  // 0: not in the second stage.
  [[nodiscard]] static uint64_t RoundOf(const Lane& lane);
  // The second stage has reached this round: lanes that enter it now get no lower one.
  void SetRound(uint64_t round) { round_ = round; }

  // Removes a lane with waiting scans and returns it, to be destroyed. Null: none is left.
  std::shared_ptr<Lane> PopLane();

 private:
  struct Caller;

  [[nodiscard]] std::shared_ptr<Caller> CallerOf(absl::string_view name);
  void Count(Lane& lane, size_t bytes, bool added);
  [[nodiscard]] std::unique_ptr<ScanTask> TakeOldest(Lane& lane);
  // The lane that the caller's next scan is taken from; null: no scan is left.
  [[nodiscard]] static const std::shared_ptr<Lane>* NextLane(Caller& caller);
  void AddToReady(const std::shared_ptr<Lane>& lane);
  [[nodiscard]] bool IsAtSecondStageShare(const Caller& caller) const;

  std::map<std::string, std::weak_ptr<Caller>> named_;
  size_t prune_at_ = 16;  // size of named_ at which expired callers are removed
  // Callers with ready lanes, the next one first.
  std::vector<Caller*> callers_;
  size_t scans_ = 0;
  size_t bytes_ = 0;
  size_t waiting_callers_ = 0;  // callers with waiting scans
  uint64_t round_ = 1;          // current round of the second stage
  size_t second_stage_limit_ = 0;
  size_t second_stage_callers_ = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_FAIR_QUEUE_H_
