// SPDX-License-Identifier: Apache-2.0
//
// SqlMapStore: what the MapStores of all databases have in common, which is all but how a
// transaction is made. Thread-safe where the transactions of the derived class are.

#ifndef VOXLOC_SERVER_MAPS_STORE_SQL_MAP_STORE_H_
#define VOXLOC_SERVER_MAPS_STORE_SQL_MAP_STORE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/maps/store/content_rows.h"
#include "server/maps/store/map_store.h"
#include "server/maps/store/map_store_options.h"
#include "server/maps/store/revision_rows.h"
#include "server/maps/store/sql_database.h"

namespace voxloc::server {

class SqlMapStore : public MapStore {
 public:
  bool shared() const override { return shared_; }
  absl::StatusOr<std::unique_ptr<ContentUpload>> Upload() override;
  absl::StatusOr<std::vector<bool>> HasContent(absl::Span<const Sha256Digest> digests) override;
  absl::StatusOr<std::vector<std::string>> MapsWithContent(const Sha256Digest& digest) override;
  absl::Status ReadContent(const Sha256Digest& digest,
                           absl::FunctionRef<absl::Status(absl::string_view)> take) override;
  absl::StatusOr<CommittedRevision> Commit(const RevisionCommit& commit) override;
  absl::StatusOr<std::optional<StoredRevision>> FindRequest(absl::string_view map,
                                                            absl::string_view request_id) override;
  absl::StatusOr<StoredRevision> Activate(absl::string_view map, uint64_t revision) override;
  absl::StatusOr<StoredRevision> Withdraw(absl::string_view map, uint64_t revision) override;
  absl::StatusOr<StoredRevision> SetCanary(absl::string_view map, uint64_t revision,
                                           std::vector<std::string> vehicles) override;
  absl::StatusOr<uint64_t> DeleteMap(absl::string_view map, uint64_t revision) override;
  absl::StatusOr<uint64_t> UndeleteMap(absl::string_view map) override;
  absl::StatusOr<std::vector<StoredMap>> ListMaps() override;
  absl::StatusOr<StoredMap> GetMap(absl::string_view map) override;
  absl::StatusOr<Manifest> GetManifest(absl::string_view map, uint64_t revision) override;
  absl::Status SaveLastPoses(absl::Span<const LastPose> poses) override;
  absl::StatusOr<LastPose> GetLastPose(absl::string_view vehicle) override;
  absl::StatusOr<std::vector<LastPose>> ListLastPoses(absl::string_view map) override;
  absl::StatusOr<SavedPoses> ListPosesSavedSince(int64_t unix_ns) override;
  absl::Status SaveTileFits(absl::Span<const StoredTileFit> fits) override;
  absl::StatusOr<std::vector<StoredTileFit>> ListTileFits(absl::string_view map) override;
  absl::StatusOr<CollectReport> Collect() override;
  absl::StatusOr<StoreUsage> Usage() override;

 protected:
  // kFull: what the transaction wrote lasts once it has returned; kNormal: soon after.
  enum class Sync { kNormal, kFull };
  using Body = absl::FunctionRef<absl::Status(SqlDatabase&)>;
  using TimedBody = absl::FunctionRef<absl::Status(SqlDatabase&, const StoreTime&)>;

  // `shared`: other processes write the database too.
  SqlMapStore(const MapStoreOptions& options, bool shared) : options_(options), shared_(shared) {}

  // One transaction that changes something. They take turns, also those of several processes.
  [[nodiscard]] virtual absl::Status Write(Sync sync, TimedBody body) = 0;
  // Some statements that read.
  [[nodiscard]] virtual absl::Status Read(Body body) = 0;
  // One transaction that reads: all that it sees is of one moment.
  [[nodiscard]] virtual absl::Status ReadAtOnce(Body body) = 0;

  // Whether an upload can begin.
  [[nodiscard]] virtual absl::Status CheckWritable() { return absl::OkStatus(); }
  // Within the transaction that has changed a map: tells other processes.
  [[nodiscard]] virtual absl::Status NoteChange(SqlDatabase& /*database*/,
                                                absl::string_view /*map*/) {
    return absl::OkStatus();
  }
  // An error of a call, with what can be done where there is something.
  [[nodiscard]] virtual absl::Status Explained(const absl::Status& status) const { return status; }
  // After a collection: gives some of what came free back to the disk.
  [[nodiscard]] virtual absl::Status Shrink(CollectReport& /*report*/) { return absl::OkStatus(); }
  // On the disk, or in memory.
  [[nodiscard]] virtual absl::StatusOr<uint64_t> StoredBytes(SqlDatabase& database) = 0;

  [[nodiscard]] const MapStoreOptions& options() const { return options_; }

 private:
  friend class SqlUpload;

  // One transaction that changes a map and lasts when this returns.
  template <typename Result>
  absl::StatusOr<Result> Change(
      absl::string_view map,
      absl::FunctionRef<absl::StatusOr<Result>(SqlDatabase&, const StoreTime&)> body);
  // One transaction that reads.
  template <typename Result>
  absl::StatusOr<Result> Ask(absl::FunctionRef<absl::StatusOr<Result>(SqlDatabase&)> body);

  // What an upload that is not finished is dated: nothing but a collection of this process knows
  // which uploads are under way, so where there are others, uploads expire as content does.
  [[nodiscard]] int64_t UploadWanted(const StoreTime& now) const {
    return shared_ ? now.store_unix_ns : kNeverWanted;
  }
  // Whether `more` bytes of content may come.
  [[nodiscard]] absl::Status CheckUnreferenced(uint64_t more);
  void AddUnreferenced(uint64_t bytes);
  void BeginUpload(int64_t content);
  void EndUpload(int64_t content);
  [[nodiscard]] std::set<int64_t> uploads();

  [[nodiscard]] absl::Status ReportDamage(int64_t content, const Sha256Digest& digest,
                                          const absl::Status& damage);

  const MapStoreOptions options_;
  const bool shared_;

  absl::Mutex uploads_mutex_;
  std::set<int64_t> uploads_ ABSL_GUARDED_BY(uploads_mutex_);  // under way
  // Compressed bytes of content that no revision refers to, or more, when they were last counted,
  // with what came since.
  uint64_t unreferenced_at_most_ ABSL_GUARDED_BY(uploads_mutex_) = 0;
  absl::Time counted_ ABSL_GUARDED_BY(uploads_mutex_) = absl::InfinitePast();
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_SQL_MAP_STORE_H_
