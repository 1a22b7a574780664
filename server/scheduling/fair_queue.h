// SPDX-License-Identifier: Apache-2.0
//
// FairQueue: the scans that wait for the engine, and whose turn is next.
//
// Scans wait in lanes: a session has one, and so has each scan that comes without a session. In a
// lane that is full the newest scan takes the place of the oldest. Lanes belong to callers; one
// that belongs to no caller by name has a caller of its own. Of the scans that may wait (`limit`),
// and in the same way of their bytes,
//
//   all together have at most          limit,
//   a caller that has any              share = limit / (callers that have any + 1),
//   a lane that has any, of a caller   share / (lanes of the caller that have any + 1),
//
// where quotients are rounded up. A batch takes one scan of each caller in turn, and of a caller
// one scan of each lane before the second of any.
//
// A lane whose scans are in a batch has its turn until EndTurn, and no other meanwhile. It may go
// on to a second stage, which has a queue elsewhere: estimates that are made after the batch. There
// callers take turns by rounds, one lane of each in a round, and a caller with more than its share
// of the lanes there gets no turn here until some have ended.
//
// Used under the lock of its owner. OpenLane, Put and TakeBatch may find no memory, which changes
// nothing; nothing else takes any.

#ifndef VOXLOC_SERVER_SCHEDULING_FAIR_QUEUE_H_
#define VOXLOC_SERVER_SCHEDULING_FAIR_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
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

  // Whether the scan may wait, where so many scans and so many bytes of them may.
  [[nodiscard]] bool HasRoomFor(const Lane& lane, const ScanTask& task, size_t max_scans,
                                size_t max_bytes) const;
  // About how many scans are taken before one that is put into the lane: what waits of its caller,
  // and as many turns of the others. In a full lane, where it takes the place of one that waits: 0.
  [[nodiscard]] size_t ScansBefore(const Lane& lane) const;
  // Lets the scan wait. Returns the one whose place it takes, or null.
  [[nodiscard]] std::unique_ptr<ScanTask> Put(const std::shared_ptr<Lane>& lane,
                                              std::unique_ptr<ScanTask>&& task);
  // Nothing is put into the lane any more. Returns the oldest scan that waits in it, or null: to be
  // called until it does.
  [[nodiscard]] std::unique_ptr<ScanTask> Close(Lane& lane);
  [[nodiscard]] static bool IsClosed(const Lane& lane);

  // No lane has a scan whose turn could come.
  [[nodiscard]] bool empty() const;
  [[nodiscard]] size_t scans() const { return scans_; }

  // The scans of a lane in a batch, in their order.
  struct Group {
    std::shared_ptr<Lane> lane;
    std::vector<ScanInBatch> scans;
  };
  // The next batch, its lanes in the order in which they came to it: `max_scans`, or fewer where
  // they have `max_points` before, or memory runs out. Their lanes have their turn until EndTurn.
  [[nodiscard]] std::vector<Group> TakeBatch(size_t max_scans, size_t max_points);
  void EndTurn(const std::shared_ptr<Lane>& lane);

  // The lane goes on to the second stage, until EndTurn. A caller's share there is `limit` lanes,
  // divided by the callers who have any and one more. Returns its round: lower rounds come first.
  [[nodiscard]] uint64_t BeginSecondStage(Lane& lane, size_t limit);
  // 0: not in the second stage.
  [[nodiscard]] static uint64_t RoundOf(const Lane& lane);
  // Lanes of this round are being taken: it is the first of those who come now.
  void TakeRound(uint64_t round) { round_ = round; }

  // Lets go of a lane that scans wait in, and returns it: what waits ends with the last owner of
  // its lane. Null: there is none.
  std::shared_ptr<Lane> DropLane();

 private:
  struct Caller;

  [[nodiscard]] std::shared_ptr<Caller> CallerOf(absl::string_view name);
  void Count(Lane& lane, size_t bytes, bool added);
  [[nodiscard]] std::unique_ptr<ScanTask> TakeOldest(Lane& lane);
  // The lane that the caller's next scan is taken from; null: no scan is left.
  [[nodiscard]] static const std::shared_ptr<Lane>* NextLane(Caller& caller);
  void AddToReady(const std::shared_ptr<Lane>& lane);
  [[nodiscard]] bool HasItsShareInSecondStage(const Caller& caller) const;
  void EndSecondStage(Lane& lane);

  std::map<std::string, std::weak_ptr<Caller>> named_;
  size_t sweep_at_ = 16;  // names at which those of callers who have gone are dropped
  // Those who have lanes that are ready; the next first.
  std::vector<Caller*> callers_;
  size_t scans_ = 0;
  size_t bytes_ = 0;
  size_t waiting_callers_ = 0;  // of whom scans wait
  uint64_t round_ = 1;          // that the second stage is at
  size_t second_stage_limit_ = 0;
  size_t second_stage_callers_ = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_FAIR_QUEUE_H_
