// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/fair_queue.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <new>
#include <utility>

namespace voxloc::server {
namespace {

size_t DivideUp(size_t a, size_t b) { return (a + b - 1) / b; }

// Reserves capacity, so that adding up to `count` items does not allocate.
template <typename Item>
void Reserve(std::vector<Item>& items, size_t count) {
  if (items.capacity() < count) items.reserve(2 * count);
}

}  // namespace

struct FairQueue::Caller {
  explicit Caller(bool is_named) : named(is_named) {}

  const bool named;  // it may have several lanes
  size_t scans = 0;  // that wait
  size_t bytes = 0;  // of them
  size_t waiting_lanes = 0;
  // Lanes in which scans wait and that do not have their turn, the next first. While a batch is
  // taken, the lanes that it has scans of are still among them.
  std::vector<std::shared_ptr<Lane>> ready;
  size_t next = 0;          // of them, while a batch is taken
  size_t second_stage = 0;  // lanes
  uint64_t last_round = 0;  // of them
  bool paused = false;      // has its share of the second stage and gets no turn meanwhile
};

class FairQueue::Lane {
 public:
  Lane(size_t capacity, std::shared_ptr<Caller> caller)
      : capacity_(std::max<size_t>(capacity, 1)), caller_(std::move(caller)) {}

 private:
  friend class FairQueue;
  [[nodiscard]] bool full() const { return waiting_.size() == capacity_; }

  const size_t capacity_;
  const std::shared_ptr<Caller> caller_;
  std::deque<std::unique_ptr<ScanTask>> waiting_;
  size_t bytes_ = 0;       // of them
  bool ready_ = false;     // among the caller's
  bool has_turn_ = false;  // until EndTurn
  size_t group_ = 0;       // while a batch is taken that has scans of it: which group they are
  uint64_t round_ = 0;     // in the second stage; 0: not there
  bool closed_ = false;
};

FairQueue::~FairQueue() {
  while (PopLane() != nullptr) {
  }
}

std::shared_ptr<FairQueue::Lane> FairQueue::OpenLane(size_t capacity, absl::string_view caller) {
  return std::make_shared<Lane>(capacity, CallerOf(caller));
}

std::shared_ptr<FairQueue::Caller> FairQueue::CallerOf(absl::string_view name) {
  if (name.empty()) return std::make_shared<Caller>(/*is_named=*/false);
  if (named_.size() >= prune_at_) {
    for (auto it = named_.begin(); it != named_.end();) {
      it = it->second.expired() ? named_.erase(it) : std::next(it);
    }
    // Amortized O(1) per new name.
    prune_at_ = std::max(prune_at_, 2 * named_.size());
  }
  std::weak_ptr<Caller>& known = named_[std::string(name)];
  std::shared_ptr<Caller> caller = known.lock();
  if (caller == nullptr) known = caller = std::make_shared<Caller>(/*is_named=*/true);
  return caller;
}

bool FairQueue::HasCapacityFor(const Lane& lane, const ScanTask& task, size_t max_scans,
                               size_t max_bytes) const {
  const Caller& caller = *lane.caller_;
  const auto fits = [&](size_t all, size_t of_caller, size_t of_lane, size_t more, size_t limit) {
    if (all + more > limit) return false;
    const size_t share = DivideUp(limit, waiting_callers_ + 1);
    if (of_caller != 0 && of_caller + more > share) return false;
    return !caller.named || of_lane == 0 ||
           of_lane + more <= DivideUp(share, caller.waiting_lanes + 1);
  };
  // In a full lane it takes the oldest one's place.
  const size_t freed = lane.full() ? lane.waiting_.front()->bytes() : 0;
  return (lane.full() || fits(scans_, caller.scans, lane.waiting_.size(), 1, max_scans)) &&
         fits(bytes_ - freed, caller.bytes - freed, lane.bytes_ - freed, task.bytes(), max_bytes);
}

size_t FairQueue::ScansAhead(const Lane& lane) const {
  if (lane.full()) return 0;
  const Caller& caller = *lane.caller_;
  const size_t others = waiting_callers_ - (caller.scans == 0 ? 0 : 1);
  return std::min(scans_, caller.scans + (caller.scans + 1) * others);
}

void FairQueue::Count(Lane& lane, size_t bytes, bool added) {
  const auto count = [added](size_t& sum, size_t by) { sum = added ? sum + by : sum - by; };
  for (size_t* sum : {&scans_, &lane.caller_->scans}) count(*sum, 1);
  for (size_t* sum : {&bytes_, &lane.caller_->bytes, &lane.bytes_}) count(*sum, bytes);
}

std::unique_ptr<ScanTask> FairQueue::Put(const std::shared_ptr<Lane>& lane,
                                         std::unique_ptr<ScanTask>&& task) {
  Caller& caller = *lane->caller_;
  // For AddToReady, whenever the lane's turn ends.
  Reserve(caller.ready, caller.waiting_lanes + 1);
  Reserve(callers_, waiting_callers_ + 1);
  const bool was_full = lane->full();
  lane->waiting_.push_back(std::move(task));
  Count(*lane, lane->waiting_.back()->bytes(), true);
  if (lane->waiting_.size() == 1 && caller.waiting_lanes++ == 0) ++waiting_callers_;
  AddToReady(lane);
  return was_full ? TakeOldest(*lane) : nullptr;
}

std::unique_ptr<ScanTask> FairQueue::TakeOldest(Lane& lane) {
  std::unique_ptr<ScanTask> task = std::move(lane.waiting_.front());
  lane.waiting_.pop_front();
  Count(lane, task->bytes(), false);
  if (lane.waiting_.empty() && --lane.caller_->waiting_lanes == 0) --waiting_callers_;
  return task;
}

bool FairQueue::IsClosed(const Lane& lane) { return lane.closed_; }

std::unique_ptr<ScanTask> FairQueue::Close(Lane& lane) {
  lane.closed_ = true;
  if (std::exchange(lane.ready_, false)) {
    std::vector<std::shared_ptr<Lane>>& ready = lane.caller_->ready;
    ready.erase(std::find_if(ready.begin(), ready.end(),
                             [&lane](const auto& one) { return one.get() == &lane; }));
    if (ready.empty()) {
      callers_.erase(std::find(callers_.begin(), callers_.end(), lane.caller_.get()));
    }
  }
  return lane.waiting_.empty() ? nullptr : TakeOldest(lane);
}

void FairQueue::AddToReady(const std::shared_ptr<Lane>& lane) {
  if (lane->ready_ || lane->has_turn_ || lane->closed_ || lane->waiting_.empty()) return;
  Caller& caller = *lane->caller_;
  if (caller.ready.empty()) callers_.push_back(&caller);
  caller.ready.push_back(lane);
  lane->ready_ = true;
}

bool FairQueue::empty() const {
  return std::all_of(callers_.begin(), callers_.end(),
                     [](const Caller* caller) { return caller->paused; });
}

std::vector<FairQueue::Group> FairQueue::TakeBatch(size_t max_scans, size_t max_points) {
  std::vector<Group> batch;
  // A caller that has had a turn is appended behind all others, while it has scans left.
  const size_t callers = callers_.size();
  Reserve(callers_, callers + std::min(max_scans, scans_));
  size_t turn = 0;  // in callers_
  size_t points = 0;
  for (size_t scans = 0; scans < max_scans && points < max_points && turn < callers_.size();) {
    Caller& caller = *callers_[turn];
    const std::shared_ptr<Lane>* const lane = caller.paused ? nullptr : NextLane(caller);
    if (lane == nullptr) {
      ++turn;
      continue;
    }
    if (!(*lane)->has_turn_) {
      try {
        std::vector<ScanInBatch> room;
        room.reserve((*lane)->waiting_.size());
        batch.push_back({*lane, std::move(room)});
      } catch (const std::bad_alloc&) {
        if (batch.empty()) throw;
        break;
      }
      (*lane)->has_turn_ = true;
      (*lane)->group_ = batch.size() - 1;
    }
    ScanInBatch& scan = batch[(*lane)->group_].scans.emplace_back();
    scan.task = TakeOldest(**lane);
    points += scan.task->points();
    ++scans;
    ++caller.next;
    ++turn;
    callers_.push_back(&caller);
  }
  for (size_t i = 0; i < std::min(turn, callers); ++i) {
    Caller& caller = *callers_[i];
    caller.next = 0;
    auto at = caller.ready.begin();  // the first ones are in the batch
    for (; at != caller.ready.end() && (*at)->has_turn_; ++at) (*at)->ready_ = false;
    caller.ready.erase(caller.ready.begin(), at);
  }
  // Keep callers with ready lanes, in the order of their turns, and paused callers.
  const auto next = callers_.begin() + static_cast<std::ptrdiff_t>(turn);
  const auto served = callers_.begin() + static_cast<std::ptrdiff_t>(std::max(turn, callers));
  callers_.erase(std::remove_if(served, callers_.end(),
                                [](const Caller* caller) { return caller->ready.empty(); }),
                 callers_.end());
  callers_.erase(
      std::remove_if(callers_.begin(), next, [](const Caller* caller) { return !caller->paused; }),
      next);
  return batch;
}

const std::shared_ptr<FairQueue::Lane>* FairQueue::NextLane(Caller& caller) {
  for (size_t tried = 0; tried < caller.ready.size(); ++tried, ++caller.next) {
    const std::shared_ptr<Lane>& lane = caller.ready[caller.next % caller.ready.size()];
    if (!lane->waiting_.empty()) return &lane;
  }
  return nullptr;
}

void FairQueue::EndTurn(const std::shared_ptr<Lane>& lane) {
  Caller& caller = *lane->caller_;
  if (std::exchange(lane->round_, 0) != 0) {
    if (--caller.second_stage == 0) --second_stage_callers_;
    if (caller.paused && (caller.second_stage == 0 || !IsAtSecondStageShare(caller))) {
      caller.paused = false;
      // Its next turn comes after those of all others.
      const auto at = std::find(callers_.begin(), callers_.end(), &caller);
      if (at != callers_.end()) std::rotate(at, at + 1, callers_.end());
    }
  }
  lane->has_turn_ = false;
  AddToReady(lane);
}

uint64_t FairQueue::RoundOf(const Lane& lane) { return lane.round_; }

bool FairQueue::IsAtSecondStageShare(const Caller& caller) const {
  return caller.second_stage >= DivideUp(second_stage_limit_, second_stage_callers_ + 1);
}

uint64_t FairQueue::BeginSecondStage(Lane& lane, size_t limit) {
  second_stage_limit_ = std::max<size_t>(limit, 1);
  Caller& caller = *lane.caller_;
  if (caller.second_stage++ == 0) ++second_stage_callers_;
  caller.last_round = std::max(caller.last_round + 1, round_);
  lane.round_ = caller.last_round;
  caller.paused = caller.paused || IsAtSecondStageShare(caller);
  return lane.round_;
}

std::shared_ptr<FairQueue::Lane> FairQueue::PopLane() {
  if (callers_.empty()) return nullptr;
  Caller& caller = *callers_.back();
  std::shared_ptr<Lane> lane = std::move(caller.ready.back());  // which holds its caller
  caller.ready.pop_back();
  if (caller.ready.empty()) callers_.pop_back();
  lane->ready_ = false;
  return lane;
}

}  // namespace voxloc::server
