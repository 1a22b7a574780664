// SPDX-License-Identifier: Apache-2.0

#include "cuda/align/align_batch.h"

#include <utility>

namespace voxloc::cuda {
namespace {

// Fills a slice with entries from `first` on; the first that is not in it.
size_t Fill(AlignSlice& slice, absl::Span<const AlignEntry> entries, size_t first) {
  slice.Clear();
  while (first < entries.size() && slice.Add(*entries[first].job, *entries[first].result)) ++first;
  return first;
}

}  // namespace

absl::StatusOr<std::unique_ptr<AlignBatch>> AlignBatch::Create(const AlignResources& resources,
                                                               Priority priority) {
  std::unique_ptr<AlignBatch> batch(new AlignBatch(resources, priority));
  // A workspace that nothing can be done with is not worth keeping.
  if (auto first = batch->Slice(0); !first.ok()) return first.status();
  return batch;
}

absl::StatusOr<AlignSlice*> AlignBatch::Slice(size_t turn) {
  std::unique_ptr<AlignSlice>& slice = slices_[turn % kSlices];
  if (slice == nullptr) {
    auto made =
        AlignSlice::Create(resources_.device, resources_.clock, resources_.limits, priority_);
    if (!made.ok()) return made.status();
    slice = *std::move(made);
  }
  return slice.get();
}

absl::Status AlignBatch::Run(absl::Span<const AlignEntry> entries) {
  times_ = {};
  size_t done = 0;
  for (size_t turn = 0; done < entries.size(); ++turn) {
    const absl::StatusOr<AlignSlice*> slice = Slice(turn);
    if (!slice.ok()) return slice.status();
    Finish(**slice);
    (*slice)->set_timed(timed_);
    done = Fill(**slice, entries, done);
    const bool whole_call = turn == 0 && done == entries.size();
    (*slice)->Launch(whole_call ? SliceUse::kWholeCall : SliceUse::kPartOfCall);
  }
  for (const std::unique_ptr<AlignSlice>& slice : slices_) {
    if (slice != nullptr) Finish(*slice);
  }
  return absl::OkStatus();
}

void AlignBatch::Finish(AlignSlice& slice) {
  if (!slice.launched()) return;
  slice.Finish();
  if (!timed_) return;
  times_.upload_ms += slice.times().upload_ms;
  times_.kernel_ms += slice.times().kernel_ms;
  times_.download_ms += slice.times().download_ms;
}

void AlignBatch::Settle() noexcept {
  for (const std::unique_ptr<AlignSlice>& slice : slices_) {
    if (slice != nullptr) slice->Settle();
  }
}

}  // namespace voxloc::cuda
