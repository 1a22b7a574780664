// SPDX-License-Identifier: Apache-2.0
//
// FaultyDisk: a file layer under SQLite, over the default one, that fails as disks do. While it
// lives it is what SQLite opens files with. The power can be cut: what was written to a file since
// its last sync is then lost, or a random part of its sectors is. Syncs can fail, and the disk can
// be full. Thread-safe.

#ifndef VOXLOC_TESTS_SERVER_MAPS_STORE_FAULTY_DISK_H_
#define VOXLOC_TESTS_SERVER_MAPS_STORE_FAULTY_DISK_H_

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "tests/support/random_numbers.h"

namespace voxloc::server {

class FaultyDisk {
 public:
  FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;
  // No file may be open.
  ~FaultyDisk();

  // Cuts the power at the write, truncation or sync after as many of them; all that follows fails.
  void CutPowerAfter(int operations) {
    const absl::MutexLock lock(&mutex_);
    operations_left_ = operations;
  }
  // Cuts it at the sync after as many of them, which is when most is at stake.
  void CutPowerAtSync(int syncs) {
    const absl::MutexLock lock(&mutex_);
    syncs_left_ = syncs;
  }
  [[nodiscard]] bool power_is_off() const {
    const absl::MutexLock lock(&mutex_);
    return power_is_off_;
  }
  // Leaves in the files what a disk has after the cut, and restores the power. No file may be open.
  void Restart(RandomNumbers& random);

  // The next syncs fail. What they should have put on the disk counts as written, as Linux has it:
  // a later sync succeeds without it, and it goes with the power.
  void FailSyncs(int count) {
    const absl::MutexLock lock(&mutex_);
    syncs_to_fail_ = count;
  }
  [[nodiscard]] int failed_syncs() const {
    const absl::MutexLock lock(&mutex_);
    return failed_syncs_;
  }
  // Every write and every sync takes so long from now on, one after the other.
  void SlowDown(absl::Duration delay) {
    const absl::MutexLock lock(&mutex_);
    delay_ = delay;
  }
  // Bytes by which files may still grow.
  void SetRoom(int64_t bytes) {
    const absl::MutexLock lock(&mutex_);
    room_ = bytes;
  }

 private:
  friend struct FaultyFile;

  // A write (with bytes) or a truncation that was not synced.
  struct Pending {
    int64_t offset = 0;
    std::string bytes;
    int64_t size_after = 0;
    bool lost = false;  // a sync has failed with it
  };
  struct File {
    bool known = false;
    std::string on_disk;
    std::vector<Pending> pending;
    int64_t size = 0;  // with what is pending
  };

  // SQLite's result for a write, truncation or sync that is about to begin.
  int BeginOperation() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  sqlite3_vfs* const real_;
  sqlite3_vfs vfs_;

  mutable absl::Mutex mutex_;
  std::map<std::string, File> files_ ABSL_GUARDED_BY(mutex_);
  int operations_left_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<int>::max();
  int syncs_left_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<int>::max();
  bool power_is_off_ ABSL_GUARDED_BY(mutex_) = false;
  int syncs_to_fail_ ABSL_GUARDED_BY(mutex_) = 0;
  int failed_syncs_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration delay_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  int64_t room_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<int64_t>::max() / 2;
};

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_MAPS_STORE_FAULTY_DISK_H_
