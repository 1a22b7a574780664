// SPDX-License-Identifier: Apache-2.0
//
// CaptureStore: the folder of captures, one file each, named by its id, with an index in memory. An
// id becomes a path only after it was found in the index. The oldest captures are deleted for new
// ones. Thread-safe; Add, SetLimits and DeleteExpired are serialized.
//
// A file is written under another name and renamed once it is on the disk, so that a crash leaves
// none half. What a crash leaves otherwise is deleted when the folder is opened; files that are
// damaged, or not captures, are left as they are, named in the log, and not listed.

#ifndef VOXLOC_SERVER_CAPTURE_CAPTURE_STORE_H_
#define VOXLOC_SERVER_CAPTURE_CAPTURE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "server/maps/store/directory_lock.h"
#include "server/observe/metrics/metrics.h"
#include "voxloc/v1/capture.pb.h"

namespace voxloc::server {

// The file of one capture: a header, voxloc.v1.CaptureInfo, so that a folder of captures is listed
// without reading their points, and voxloc.v1.Capture. Header and both messages have checksums.

// Bytes from the beginning of a file that have its info at least, if they are all there.
inline constexpr size_t kCaptureHeadBytes = 4096;

// InvalidArgument: the info has more than kCaptureHeadBytes.
[[nodiscard]] absl::StatusOr<std::string> EncodeCaptureFile(const v1::Capture& capture);

// What a file of `file_bytes` is of, from its first kCaptureHeadBytes, or all it has; with its
// size. DataLoss: it is not a file of a capture, or is damaged or truncated.
[[nodiscard]] absl::StatusOr<v1::CaptureInfo> DecodeCaptureInfo(absl::string_view head,
                                                                uint64_t file_bytes);

// A whole file. DataLoss: as above.
[[nodiscard]] absl::StatusOr<v1::Capture> DecodeCaptureFile(absl::string_view file);

// Writes a file that its user alone may read. On an error there is none.
[[nodiscard]] absl::Status WriteCaptureFile(const std::string& path, absl::string_view bytes);

class CaptureStore {
 public:
  struct Limits {
    uint64_t max_bytes = 0;
    uint64_t max_capture_bytes = 0;  // of one: what a reply may have
    double max_age_s = 0.0;
    // The index takes some hundred bytes of memory for each: megabytes.
    size_t max_captures = 10'000;
  };
  struct Files {
    std::function<absl::Status(const std::string& path, absl::string_view bytes)> write =
        WriteCaptureFile;
    std::function<int64_t()> unix_ns = absl::GetCurrentTimeNanos;
  };
  // Sort key of a capture: its time in nanoseconds and its id.
  using Key = std::pair<int64_t, std::string>;

  // Creates the folder where its parent exists, and takes over what is in it. `id_prefix` is new
  // with each start of the server, such as "c18f2a4". The metrics must outlive the store.
  // AlreadyExists: another process has the folder; FailedPrecondition: it cannot be written.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<CaptureStore>> Open(
      const std::string& directory, std::string id_prefix, const Limits& limits,
      const CaptureMetrics& metrics, Files files);
  CaptureStore(const CaptureStore&) = delete;
  CaptureStore& operator=(const CaptureStore&) = delete;

  // Deletes what is over the new limits.
  void SetLimits(const Limits& limits) ABSL_LOCKS_EXCLUDED(write_mutex_);

  // Gives the capture an id and writes it. ResourceExhausted: it has more bytes than it may have,
  // or the disk is full; Unavailable: the folder cannot be written; InvalidArgument: its info is
  // too large.
  [[nodiscard]] absl::Status Add(v1::Capture capture) ABSL_LOCKS_EXCLUDED(write_mutex_);

  void DeleteExpired() ABSL_LOCKS_EXCLUDED(write_mutex_);

  // Newest first: up to `count` captures older than `before` that pass the filter.
  [[nodiscard]] std::vector<v1::CaptureInfo> List(
      const std::optional<Key>& before, const std::function<bool(const v1::CaptureInfo&)>& filter,
      size_t count) const;

  // nullopt: there is none.
  [[nodiscard]] std::optional<v1::CaptureInfo> Find(const std::string& id) const;

  // NotFound: it has been deleted; DataLoss: it is damaged.
  [[nodiscard]] absl::StatusOr<v1::Capture> Read(const std::string& id) const;

 private:
  CaptureStore(std::string directory, std::string id_prefix, std::unique_ptr<DirectoryLock> lock,
               const CaptureMetrics& metrics, Files files)
      : directory_(std::move(directory)),
        id_prefix_(std::move(id_prefix)),
        lock_(std::move(lock)),
        metrics_(metrics),
        files_(std::move(files)) {}

  [[nodiscard]] absl::Status LoadIndex() ABSL_LOCKS_EXCLUDED(mutex_);
  [[nodiscard]] std::string NewId() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  // Deletes expired captures, then the oldest until `bytes` and `captures` more fit.
  void DeleteUntilFree(uint64_t bytes, size_t captures) ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  [[nodiscard]] std::string PathOf(const std::string& id) const;
  void Index(v1::CaptureInfo info) ABSL_LOCKS_EXCLUDED(mutex_);
  void UpdateMetrics() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string directory_;
  const std::string id_prefix_;
  const std::unique_ptr<DirectoryLock> lock_;
  const CaptureMetrics& metrics_;
  const Files files_;

  absl::Mutex write_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);  // while files are written and deleted
  Limits limits_ ABSL_GUARDED_BY(write_mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(write_mutex_) = 0;

  mutable absl::Mutex mutex_;
  std::map<Key, v1::CaptureInfo> captures_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int64_t> times_ns_ ABSL_GUARDED_BY(mutex_);  // by id
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CAPTURE_CAPTURE_STORE_H_
