// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/fair_queue.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace voxloc::server {
namespace {

size_t DivideUp(size_t a, size_t b) { return (a + b - 1) / b; }

}  // namespace

std::shared_ptr<FairQueue::Lane> FairQueue::OpenLane(size_t capacity, absl::string_view caller) {
  return std::make_shared<Lane>(capacity, CallerOf(caller));
}

std::shared_ptr<FairQueue::Caller> FairQueue::CallerOf(absl::string_view name) {
  const auto make = [](bool named) {
    auto caller = std::make_shared<Caller>(named);
    caller->node.push_back(caller.get());
    return caller;
  };
  if (name.empty()) return make(false);
  const auto found = named_.find(name);
  if (found != named_.end()) {
    std::shared_ptr<Caller> caller = found->second.lock();
    if (caller != nullptr) return caller;
    caller = make(true);
    found->second = caller;
    return caller;
  }
  if (named_.size() >= sweep_at_) {
    for (auto it = named_.begin(); it != named_.end();) {
      it = it->second.expired() ? named_.erase(it) : std::next(it);
    }
    // So that names are looked through once for each that comes, on average.
    sweep_at_ = std::max(sweep_at_, 2 * named_.size());
  }
  std::shared_ptr<Caller> caller = make(true);
  named_.emplace(std::string(name), caller);
  return caller;
}

bool FairQueue::HasRoomFor(const Lane& lane, const ScanTask& task, size_t max_scans,
                           size_t max_bytes) const {
  const Caller& caller = *lane.caller_;
  const auto fits = [&](size_t all, size_t of_caller, size_t of_lane, size_t more, size_t limit) {
    if (all + more > limit) return false;
    const size_t of_each = DivideUp(limit, waiting_callers_ + 1);
    if (of_caller != 0 && of_caller + more > of_each) return false;
    return !caller.named || of_lane == 0 ||
           of_lane + more <= DivideUp(of_each, caller.waiting_lanes + 1);
  };
  // In a full lane it takes the oldest one's place.
  const bool full = lane.waiting_.full();
  const size_t freed = full ? lane.waiting_.oldest()->bytes() : 0;
  return (full || fits(scans_, caller.scans, lane.waiting_.size(), 1, max_scans)) &&
         fits(bytes_ - freed, caller.bytes - freed, lane.bytes_ - freed, task.bytes(), max_bytes);
}

size_t FairQueue::ScansBefore(const Lane& lane) const {
  if (lane.waiting_.full()) return 0;
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
                                         std::unique_ptr<ScanTask> task) {
  const size_t bytes = task->bytes();
  const bool was_empty = lane->waiting_.empty();
  std::optional<std::unique_ptr<ScanTask>> displaced = lane->waiting_.Put(std::move(task));
  Count(*lane, bytes, true);
  if (was_empty && lane->caller_->waiting_lanes++ == 0) ++waiting_callers_;
  AddToReady(lane);
  if (!displaced.has_value()) return nullptr;
  Count(*lane, (*displaced)->bytes(), false);
  return *std::move(displaced);
}

std::unique_ptr<ScanTask> FairQueue::TakeOldest(Lane& lane) {
  std::unique_ptr<ScanTask> task = lane.waiting_.Take();
  Count(lane, task->bytes(), false);
  if (lane.waiting_.empty() && --lane.caller_->waiting_lanes == 0) --waiting_callers_;
  return task;
}

bool FairQueue::IsClosed(const Lane& lane) { return lane.closed_; }

std::vector<std::unique_ptr<ScanTask>> FairQueue::Close(Lane& lane) {
  std::vector<std::unique_ptr<ScanTask>> waited;
  waited.reserve(lane.waiting_.size());
  lane.closed_ = true;
  while (!lane.waiting_.empty()) waited.push_back(TakeOldest(lane));
  if (!lane.listed_) return waited;
  lane.listed_ = false;
  --ready_lanes_;
  Caller& caller = *lane.caller_;
  const auto at = std::find_if(caller.ready.begin(), caller.ready.end(),
                               [&](const auto& listed) { return listed.get() == &lane; });
  lane.node_.splice(lane.node_.end(), caller.ready, at);
  if (caller.ready.empty() && !caller.held) {
    caller.node.splice(caller.node.end(), callers_,
                       std::find(callers_.begin(), callers_.end(), &caller));
  }
  lane.node_.front().reset();
  return waited;
}

void FairQueue::AddToReady(const std::shared_ptr<Lane>& lane) {
  if (lane->listed_ || lane->running_ || lane->waiting_.empty()) return;
  Caller& caller = *lane->caller_;
  lane->listed_ = true;
  ++ready_lanes_;
  lane->node_.front() = lane;
  caller.ready.splice(caller.ready.end(), lane->node_);
  callers_.splice(callers_.end(), caller.node);  // nothing, where the caller is in a list already
}

bool FairQueue::HasMore(const Caller& caller) {
  return !caller.ready.empty() ||
         std::any_of(caller.taken.begin(), caller.taken.end(),
                     [](const auto& lane) { return !lane->waiting_.empty(); });
}

FairQueue::Turn FairQueue::Next() const {
  if (callers_.empty()) return {};
  const Caller& caller = *callers_.front();
  if (!caller.ready.empty()) {
    const std::shared_ptr<Lane>& lane = caller.ready.front();
    return {lane, places_, lane->waiting_.size()};
  }
  const auto more = std::find_if(caller.taken.begin(), caller.taken.end(),
                                 [](const auto& lane) { return !lane->waiting_.empty(); });
  return {*more, (*more)->place_, (*more)->waiting_.size()};
}

std::unique_ptr<ScanTask> FairQueue::TakeNext() {
  Caller& caller = *callers_.front();
  auto at = caller.ready.begin();
  if (at != caller.ready.end()) {
    Lane& lane = **at;
    lane.listed_ = false;
    lane.running_ = true;
    lane.place_ = places_++;
    --ready_lanes_;
    caller.taken.splice(caller.taken.end(), caller.ready, at);
  } else {
    at = std::find_if(caller.taken.begin(), caller.taken.end(),
                      [](const auto& lane) { return !lane->waiting_.empty(); });
    caller.taken.splice(caller.taken.end(), caller.taken, at);
  }
  std::unique_ptr<ScanTask> task = TakeOldest(*caller.taken.back());
  Callers& to = HasMore(caller) ? callers_ : served_;
  to.splice(to.end(), callers_, callers_.begin());
  return task;
}

void FairQueue::EndBatch() {
  places_ = 0;
  callers_.splice(callers_.begin(), served_);
  for (auto at = callers_.begin(); at != callers_.end();) {
    Caller& caller = **at;
    while (!caller.taken.empty()) {
      Lane& lane = *caller.taken.front();
      lane.node_.splice(lane.node_.end(), caller.taken, caller.taken.begin());
      lane.node_.front().reset();
    }
    const auto here = at++;
    if (caller.ready.empty()) caller.node.splice(caller.node.end(), callers_, here);
  }
}

void FairQueue::EndTurn(const std::shared_ptr<Lane>& lane) {
  if (lane->round_ != 0) EndSecondStage(*lane);
  lane->running_ = false;
  AddToReady(lane);
}

uint64_t FairQueue::RoundOf(const Lane& lane) { return lane.round_; }

bool FairQueue::HasItsShareInSecondStage(const Caller& caller) const {
  return caller.second_stage >= DivideUp(second_stage_limit_, second_stage_callers_ + 1);
}

uint64_t FairQueue::BeginSecondStage(Lane& lane, size_t limit) {
  second_stage_limit_ = std::max<size_t>(limit, 1);
  Caller& caller = *lane.caller_;
  if (caller.second_stage++ == 0) ++second_stage_callers_;
  caller.last_round = std::max(caller.last_round + 1, round_);
  lane.round_ = caller.last_round;
  if (!caller.held && HasItsShareInSecondStage(caller)) {
    caller.held = true;
    Callers& from = caller.node.empty() ? callers_ : caller.node;
    held_.splice(held_.end(), from, std::find(from.begin(), from.end(), &caller));
  }
  return lane.round_;
}

void FairQueue::EndSecondStage(Lane& lane) {
  lane.round_ = 0;
  Caller& caller = *lane.caller_;
  if (--caller.second_stage == 0) --second_stage_callers_;
  if (!caller.held || (caller.second_stage > 0 && HasItsShareInSecondStage(caller))) return;
  caller.held = false;
  Callers& to = caller.ready.empty() ? caller.node : callers_;
  to.splice(to.end(), held_, std::find(held_.begin(), held_.end(), &caller));
}

FairQueue::Lanes FairQueue::Clear() {
  Lanes lanes;  // which hold their callers
  for (Caller* caller : held_) caller->held = false;
  callers_.splice(callers_.end(), held_);
  while (!callers_.empty()) {
    Caller& caller = *callers_.front();
    caller.node.splice(caller.node.end(), callers_, callers_.begin());
    for (const auto& lane : caller.ready) lane->listed_ = false;
    lanes.splice(lanes.end(), caller.ready);
  }
  ready_lanes_ = 0;
  return lanes;
}

}  // namespace voxloc::server
