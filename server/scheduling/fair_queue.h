// SPDX-License-Identifier: Apache-2.0
//
// FairQueue: the scans that wait for the engine, and whose turn is next.
//
// Scans wait in lanes: a session has one, and so has each scan that comes without a session. Lanes
// belong to callers, and shares are at two levels. Of what may wait a caller has at most an even
// share beside its first scan, the limit divided by the callers of whom scans wait and one more;
// and of its caller's share a lane has at most an even one in the same way. A batch takes one scan
// of each caller in turn, and of a caller one scan of each lane before the second of any. Lanes
// that belong to no caller by name are callers of their own.
//
// A lane that is under way may go on to a second stage, which has a queue elsewhere: estimates that
// are made behind the batch. There callers take turns by rounds, one lane of each in a round, and a
// caller with more than its share of the lanes there gets no turn here until some have ended.
//
// Used under the lock of its owner. OpenLane, Put and Close may find no memory, which changes
// nothing; nothing else takes any.

#ifndef VOXLOC_SERVER_SCHEDULING_FAIR_QUEUE_H_
#define VOXLOC_SERVER_SCHEDULING_FAIR_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/scheduling/mailbox.h"
#include "server/scheduling/scan_task.h"

namespace voxloc::server {

class FairQueue {
 public:
  class Lane;

  FairQueue() = default;
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;
  ~FairQueue() { static_cast<void>(Clear()); }

  // A lane of the caller of this name; empty: of a caller of its own.
  [[nodiscard]] std::shared_ptr<Lane> OpenLane(size_t capacity, absl::string_view caller);

  // Whether the scan may wait, where so many scans and so many bytes of them may.
  [[nodiscard]] bool HasRoomFor(const Lane& lane, const ScanTask& task, size_t max_scans,
                                size_t max_bytes) const;
  // About how many scans are taken before one that is put into the lane: what waits of its caller,
  // and as many turns of the others. In a full lane, where it takes the place of one that waits: 0.
  [[nodiscard]] size_t ScansBefore(const Lane& lane) const;
  // Lets it wait. Returns the scan that had to give way, or null.
  [[nodiscard]] std::unique_ptr<ScanTask> Put(const std::shared_ptr<Lane>& lane,
                                              std::unique_ptr<ScanTask> task);
  // Nothing is put into the lane any more. Returns what waited in it. Once.
  [[nodiscard]] std::vector<std::unique_ptr<ScanTask>> Close(Lane& lane);
  [[nodiscard]] static bool IsClosed(const Lane& lane);

  // No lane has a scan whose turn could come.
  [[nodiscard]] bool empty() const { return callers_.empty(); }
  [[nodiscard]] size_t scans() const { return scans_; }
  [[nodiscard]] size_t ready_lanes() const { return ready_lanes_; }

  // A batch is made by Next and TakeNext in turn, and EndBatch. The lane whose turn is next; null:
  // none. `place` numbers the lanes of the batch in the order in which they came to it.
  struct Turn {
    std::shared_ptr<Lane> lane;
    size_t place = 0;
    size_t waiting = 0;  // scans in the lane
  };
  [[nodiscard]] Turn Next() const;
  [[nodiscard]] std::unique_ptr<ScanTask> TakeNext();
  // Scans of the batch's lanes are under way from here on. Its owner holds the lanes until EndTurn.
  void EndBatch();
  // None of this lane is any more: its turn can come again.
  void EndTurn(const std::shared_ptr<Lane>& lane);

  // The lane goes on to the second stage, until EndTurn. A caller's share there is `limit` lanes,
  // divided by the callers who have any and one more. Returns its round: lower rounds come first.
  [[nodiscard]] uint64_t BeginSecondStage(Lane& lane, size_t limit);
  // 0: not in the second stage.
  [[nodiscard]] static uint64_t RoundOf(const Lane& lane);
  // Lanes of this round are being taken: it is the first of those who come now.
  void TakeRound(uint64_t round) { round_ = round; }

  // Lets go of all lanes that scans wait in, and returns them: what waits ends with the last owner
  // of its lane.
  using Lanes = std::list<std::shared_ptr<Lane>>;
  Lanes Clear();

 private:
  struct Caller;
  using Callers = std::list<Caller*>;

  [[nodiscard]] std::shared_ptr<Caller> CallerOf(absl::string_view name);
  [[nodiscard]] static bool HasMore(const Caller& caller);
  void Count(Lane& lane, size_t bytes, bool added);
  [[nodiscard]] std::unique_ptr<ScanTask> TakeOldest(Lane& lane);
  void AddToReady(const std::shared_ptr<Lane>& lane);
  [[nodiscard]] bool HasItsShareInSecondStage(const Caller& caller) const;
  void EndSecondStage(Lane& lane);

  std::map<std::string, std::weak_ptr<Caller>, std::less<>> named_;
  size_t sweep_at_ = 16;  // names at which those of callers who have gone are dropped
  Callers callers_;       // with a lane whose turn can come; the next first
  Callers served_;        // of whom the batch has all that waits
  Callers held_;          // who have their share of the second stage
  size_t scans_ = 0;
  size_t bytes_ = 0;
  size_t waiting_callers_ = 0;  // of whom scans wait
  size_t ready_lanes_ = 0;
  size_t places_ = 0;   // lanes of the batch
  uint64_t round_ = 1;  // that the second stage is at
  size_t second_stage_limit_ = 0;
  size_t second_stage_callers_ = 0;
};

struct FairQueue::Caller {
  explicit Caller(bool is_named) : named(is_named) {}

  const bool named;  // it may have several lanes
  size_t scans = 0;  // that wait
  size_t bytes = 0;  // of them
  size_t waiting_lanes = 0;
  size_t second_stage = 0;  // lanes
  uint64_t last_round = 0;  // of them
  bool held = false;
  Lanes ready;   // whose turn can come, the next first
  Lanes taken;   // of which the batch has scans
  Callers node;  // itself, while it is in no list of the queue
};

// Everything in it is the queue's.
class FairQueue::Lane {
 public:
  Lane(size_t capacity, std::shared_ptr<Caller> caller)
      : caller_(std::move(caller)), waiting_(capacity), node_(1) {}

 private:
  friend class FairQueue;
  const std::shared_ptr<Caller> caller_;
  Mailbox<std::unique_ptr<ScanTask>> waiting_;
  size_t bytes_ = 0;      // of the scans that wait
  size_t place_ = 0;      // in the batch
  uint64_t round_ = 0;    // in the second stage; 0: not there
  bool listed_ = false;   // among the caller's lanes that are ready
  bool running_ = false;  // whether scans of it are on their way, or in the batch
  bool closed_ = false;
  Lanes node_;  // holds null while the lane is in no list
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCHEDULING_FAIR_QUEUE_H_
