// SPDX-License-Identifier: Apache-2.0

#include "tests/server/maps/store/faulty_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "tests/server/maps/store/store_fixture.h"

namespace voxloc::server {
namespace {

// What a disk writes whole, or not at all.
constexpr int64_t kSectorBytes = 512;

constexpr int kIoError = SQLITE_IOERR;

void Put(absl::string_view bytes, int64_t offset, std::string& file) {
  const auto begin = static_cast<size_t>(offset);
  if (file.size() < begin + bytes.size()) file.resize(begin + bytes.size());
  file.replace(begin, bytes.size(), bytes.data(), bytes.size());
}

}  // namespace

// As SQLite lays files out: its own part first, the file of the layer below behind it.
struct FaultyFile {
  sqlite3_file base;
  FaultyDisk* disk;
  FaultyDisk::File* file;  // null: a temporary file

  static FaultyFile* Of(sqlite3_file* file) { return reinterpret_cast<FaultyFile*>(file); }
  static sqlite3_file* Real(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(Of(file) + 1);
  }
  static const sqlite3_io_methods* Methods(sqlite3_file* file) { return Real(file)->pMethods; }

  static int Open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
    auto* const disk = static_cast<FaultyDisk*>(vfs->pAppData);
    file->pMethods = nullptr;
    const absl::MutexLock lock(&disk->mutex_);
    if (disk->power_is_off_) return SQLITE_CANTOPEN;
    const int code = disk->real_->xOpen(disk->real_, name, Real(file), flags, out);
    if (code != SQLITE_OK) return code;
    Of(file)->disk = disk;
    Of(file)->file = nullptr;
    if (name != nullptr) {
      FaultyDisk::File& state = disk->files_[name];
      Of(file)->file = &state;
      if (!state.known) {
        state.known = true;
        state.on_disk = BytesOfFile(name);
        state.size = static_cast<int64_t>(state.on_disk.size());
      }
    }
    file->pMethods = &kMethods;
    return SQLITE_OK;
  }

  static int Close(sqlite3_file* file) { return Methods(file)->xClose(Real(file)); }

  static int Read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
    const absl::MutexLock lock(&Of(file)->disk->mutex_);
    if (Of(file)->disk->power_is_off_) return kIoError;
    return Methods(file)->xRead(Real(file), bytes, size, offset);
  }

  static int Write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    FaultyDisk* const disk = Of(file)->disk;
    FaultyDisk::File* const state = Of(file)->file;
    const absl::MutexLock lock(&disk->mutex_);
    if (state == nullptr) return Methods(file)->xWrite(Real(file), bytes, size, offset);
    const int begun = disk->BeginOperation();
    if (begun != SQLITE_OK) return begun;
    FaultyDisk::Pending pending;
    pending.offset = offset;
    pending.bytes.assign(static_cast<const char*>(bytes), static_cast<size_t>(size));
    pending.size_after = std::max<int64_t>(state->size, offset + size);
    const int64_t growth = pending.size_after - state->size;
    if (growth > disk->room_) return SQLITE_FULL;
    const int code = Methods(file)->xWrite(Real(file), bytes, size, offset);
    if (code != SQLITE_OK) return code;
    disk->room_ -= growth;
    state->size = pending.size_after;
    state->pending.push_back(std::move(pending));
    return SQLITE_OK;
  }

  static int Truncate(sqlite3_file* file, sqlite3_int64 size) {
    FaultyDisk* const disk = Of(file)->disk;
    FaultyDisk::File* const state = Of(file)->file;
    const absl::MutexLock lock(&disk->mutex_);
    if (state == nullptr) return Methods(file)->xTruncate(Real(file), size);
    const int begun = disk->BeginOperation();
    if (begun != SQLITE_OK) return begun;
    FaultyDisk::Pending pending;
    pending.offset = size;
    pending.size_after = size;
    const int code = Methods(file)->xTruncate(Real(file), size);
    if (code != SQLITE_OK) return code;
    disk->room_ += state->size - size;
    state->size = size;
    state->pending.push_back(std::move(pending));
    return SQLITE_OK;
  }

  static int Sync(sqlite3_file* file, int /*flags*/) {
    FaultyDisk* const disk = Of(file)->disk;
    FaultyDisk::File* const state = Of(file)->file;
    const absl::MutexLock lock(&disk->mutex_);
    if (disk->syncs_left_-- <= 0) disk->power_is_off_ = true;
    const int begun = disk->BeginOperation();
    if (begun != SQLITE_OK || state == nullptr) return begun;
    if (disk->syncs_to_fail_ > 0) {
      --disk->syncs_to_fail_;
      ++disk->failed_syncs_;
      for (FaultyDisk::Pending& pending : state->pending) pending.lost = true;
      return SQLITE_IOERR_FSYNC;
    }
    // The real file is not synced: nothing happens to the machine.
    for (const FaultyDisk::Pending& pending : state->pending) {
      if (pending.lost) continue;
      if (pending.bytes.empty()) {
        state->on_disk.resize(static_cast<size_t>(pending.size_after));
      } else {
        Put(pending.bytes, pending.offset, state->on_disk);
      }
    }
    state->pending.clear();
    return SQLITE_OK;
  }

  static int FileSize(sqlite3_file* file, sqlite3_int64* size) {
    return Methods(file)->xFileSize(Real(file), size);
  }
  static int Lock(sqlite3_file* file, int level) { return Methods(file)->xLock(Real(file), level); }
  static int Unlock(sqlite3_file* file, int level) {
    return Methods(file)->xUnlock(Real(file), level);
  }
  static int CheckReservedLock(sqlite3_file* file, int* out) {
    return Methods(file)->xCheckReservedLock(Real(file), out);
  }
  static int FileControl(sqlite3_file* file, int op, void* argument) {
    return Methods(file)->xFileControl(Real(file), op, argument);
  }
  static int SectorSize(sqlite3_file* file) { return Methods(file)->xSectorSize(Real(file)); }
  static int DeviceCharacteristics(sqlite3_file* file) {
    return Methods(file)->xDeviceCharacteristics(Real(file));
  }
  static int ShmMap(sqlite3_file* file, int region, int size, int extend, void volatile** out) {
    return Methods(file)->xShmMap(Real(file), region, size, extend, out);
  }
  static int ShmLock(sqlite3_file* file, int offset, int n, int flags) {
    return Methods(file)->xShmLock(Real(file), offset, n, flags);
  }
  static void ShmBarrier(sqlite3_file* file) { Methods(file)->xShmBarrier(Real(file)); }
  static int ShmUnmap(sqlite3_file* file, int remove) {
    return Methods(file)->xShmUnmap(Real(file), remove);
  }

  static const sqlite3_io_methods kMethods;
};

// Version 2: with shared memory, without mapped files, whose writes would pass by.
const sqlite3_io_methods FaultyFile::kMethods = {2,
                                                 Close,
                                                 Read,
                                                 Write,
                                                 Truncate,
                                                 Sync,
                                                 FileSize,
                                                 Lock,
                                                 Unlock,
                                                 CheckReservedLock,
                                                 FileControl,
                                                 SectorSize,
                                                 DeviceCharacteristics,
                                                 ShmMap,
                                                 ShmLock,
                                                 ShmBarrier,
                                                 ShmUnmap,
                                                 nullptr,
                                                 nullptr};

FaultyDisk::FaultyDisk() : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
  vfs_.zName = "faulty";
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(sizeof(FaultyFile)) + real_->szOsFile;
  vfs_.xOpen = FaultyFile::Open;
  // The rest of the default layer finds its own state in what it is called with.
  vfs_.xDelete = [](sqlite3_vfs* vfs, const char* name, int sync) {
    auto* const disk = static_cast<FaultyDisk*>(vfs->pAppData);
    const absl::MutexLock lock(&disk->mutex_);
    if (disk->power_is_off_) return kIoError;
    disk->files_.erase(name);
    return disk->real_->xDelete(disk->real_, name, sync);
  };
  vfs_.xAccess = [](sqlite3_vfs* vfs, const char* name, int flags, int* out) {
    auto* const disk = static_cast<FaultyDisk*>(vfs->pAppData);
    return disk->real_->xAccess(disk->real_, name, flags, out);
  };
  vfs_.xFullPathname = [](sqlite3_vfs* vfs, const char* name, int size, char* out) {
    auto* const disk = static_cast<FaultyDisk*>(vfs->pAppData);
    return disk->real_->xFullPathname(disk->real_, name, size, out);
  };
  EXPECT_EQ(sqlite3_vfs_register(&vfs_, 1), SQLITE_OK);
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(real_, 1);
}

int FaultyDisk::BeginOperation() {
  // Real time: a slow disk, where a test asks for one.
  if (delay_ > absl::ZeroDuration()) absl::SleepFor(delay_);
  if (!power_is_off_ && operations_left_-- <= 0) power_is_off_ = true;
  return power_is_off_ ? kIoError : SQLITE_OK;
}

void FaultyDisk::Restart(RandomNumbers& random) {
  const absl::MutexLock lock(&mutex_);
  // From nothing to all of what was not synced.
  const double kept = std::clamp(random.Uniform(-0.25, 1.25), 0.0, 1.0);
  for (auto& [path, file] : files_) {
    if (!std::filesystem::exists(path)) continue;
    for (const Pending& pending : file.pending) {
      if (pending.lost) continue;
      if (pending.bytes.empty()) {
        if (random.Uniform(0.0, 1.0) < kept) {
          file.on_disk.resize(static_cast<size_t>(pending.size_after));
        }
        continue;
      }
      const auto size = static_cast<int64_t>(pending.bytes.size());
      for (int64_t at = 0; at < size;) {
        const int64_t in_sector = (pending.offset + at) % kSectorBytes;
        const int64_t length = std::min(kSectorBytes - in_sector, size - at);
        if (random.Uniform(0.0, 1.0) < kept) {
          Put(absl::string_view(pending.bytes)
                  .substr(static_cast<size_t>(at), static_cast<size_t>(length)),
              pending.offset + at, file.on_disk);
        }
        at += length;
      }
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << file.on_disk;
    // The index of the log is memory.
    std::remove((path + "-shm").c_str());
  }
  files_.clear();
  operations_left_ = std::numeric_limits<int>::max();
  syncs_left_ = std::numeric_limits<int>::max();
  power_is_off_ = false;
  syncs_to_fail_ = 0;
}

}  // namespace voxloc::server
