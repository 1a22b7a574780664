// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/align_batch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/parallel/spin_team.h"

namespace voxloc::cuda {
namespace {

// Spins between two queries of the stream, whose lock in the driver launches need too. They take
// less than a microsecond; a kernel takes at least fifty.
constexpr int kPausesPerQuery = 16;

// Fills a slice with entries from `first` on. Returns the index of the first that did not fit.
size_t Fill(AlignSlice& slice, absl::Span<const AlignEntry> entries, size_t first) {
  slice.Clear();
  while (first < entries.size() && slice.Add(entries[first])) ++first;
  return first;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AlignBatch>> AlignBatch::Create(const AlignResources& resources,
                                                               Priority priority) {
  std::unique_ptr<AlignBatch> batch(new AlignBatch(resources, priority));
  // Fails here rather than in Run if no slice can be made.
  if (auto first = batch->Slice(0); !first.ok()) return first.status();
  return batch;
}

absl::StatusOr<AlignSlice*> AlignBatch::Slice(size_t turn) {
  const size_t place = turn % kSlices;
  if (place == slices_.size()) {
    // Jobs that fill the device, where it is all theirs.
    const auto max_jobs = static_cast<size_t>(
        resources_.background_budget == nullptr
            ? resources_.limits.resident_blocks
            : std::max<int>(1, resources_.background_budget->blocks() / kSlices));
    VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<AlignSlice> slice,
                            AlignSlice::Create(resources_, max_jobs, priority_));
    slices_.push_back(std::move(slice));
  }
  return slices_[place].get();
}

absl::Status AlignBatch::Run(absl::Span<const AlignEntry> entries) {
  size_t done = 0;
  for (size_t turn = 0; done < entries.size(); ++turn) {
    VOXLOC_ASSIGN_OR_RETURN(AlignSlice* const slice, Slice(turn));
    Finish(*slice);
    done = Fill(*slice, entries, done);
    const bool whole_call = turn == 0 && done == entries.size();
    const bool background = resources_.background_budget != nullptr;
    slice->Plan(!whole_call  ? DeviceUse::kPart
                : background ? DeviceUse::kBackground
                             : DeviceUse::kWhole);
    if (background) AcquireBudget(turn);
    slice->Launch();
  }
  for (const auto& slice : slices_) Finish(*slice);
  return absl::OkStatus();
}

void AlignBatch::AcquireBudget(size_t turn) {
  AlignSlice& slice = *slices_[turn % kSlices];
  const int blocks = slice.budget_blocks();
  std::optional<BlockBudget::Reservation> reservation =
      resources_.background_budget->TryAcquire(blocks);
  for (size_t later = 1; later < kSlices && !reservation; ++later) {
    // The oldest first.
    const size_t place = (turn + later) % kSlices;
    if (place >= slices_.size() || !slices_[place]->launched()) continue;
    Finish(*slices_[place]);
    reservation = resources_.background_budget->TryAcquire(blocks);
  }
  slice.SetReservation(reservation ? *std::move(reservation)
                                   : resources_.background_budget->Acquire(blocks));
}

void AlignBatch::WaitUntilDone(const AlignSlice& slice) noexcept {
  const auto watched = [](const std::unique_ptr<AlignSlice>& any) { return any->watched(); };
  if (std::none_of(slices_.begin(), slices_.end(), watched)) return;
  int spins = 0;
  while (!slice.IsDone()) {
    for (const std::unique_ptr<AlignSlice>& any : slices_) {
      if (watched(any)) any->ForwardStops();
    }
    // Once SpinPause yields the processor, query after every yield.
    int pauses = 0;
    do SpinPause(&spins);
    while (++pauses < kPausesPerQuery && spins < kMaxSpins);
  }
}

void AlignBatch::Finish(AlignSlice& slice) {
  if (!slice.launched()) return;
  WaitUntilDone(slice);
  slice.Finish();
}

void AlignBatch::Drain() noexcept {
  for (const auto& slice : slices_) slice->Drain();
}

}  // namespace voxloc::cuda
