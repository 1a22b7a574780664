// SPDX-License-Identifier: Apache-2.0
//
// MapStore: persistent storage of maps: the revisions of each map, the content of their tiles, and
// the last poses of vehicles. It does not store what is computed from them.
//
// Content is identified by its SHA-256 and stored once, however many maps and revisions use it. It
// is uploaded in pieces, by short transactions, before a revision refers to it; unreferenced
// content is limited in size and expires. A commit is one short transaction with the changes of a
// revision. It is on disk when the call returns; after a crash, exactly the committed state is
// left.
//
// A map's history is linear: each activated revision follows the previous one. A staged revision is
// committed but not part of the history: it can be activated while its parent is the active
// revision, or withdrawn. A map exists while one of its revisions is active or staged. Revision
// numbers of a map are never reused, not even after its deletion.
//
// All methods are thread-safe and block. Errors in addition to those documented per method:
//   ResourceExhausted   the disk is full
//   DataLoss            content or the database is damaged; the message says which and what to do
//   FailedPrecondition  the directory cannot be written
//   Unavailable         the database cannot be reached; retry later
//   Internal            another fault of the database

#ifndef VOXLOC_SERVER_MAPS_STORE_MAP_STORE_H_
#define VOXLOC_SERVER_MAPS_STORE_MAP_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/checksum/sha256.h"
#include "core/estimate/map_fit/scan_fit.h"
#include "core/geometry/pose.h"
#include "core/map/tile_catalogue.h"

namespace voxloc::server {

// The tiles of a revision; the store sets the revision at which each came.
using Manifest = std::map<std::string, TileRecord>;  // by tile id

// By tile id; nullopt: the tile is removed, if it exists.
using ManifestChange = std::map<std::string, std::optional<TileRecord>>;

// Kept in the database by these numbers.
enum class RevisionState {
  kActive,  // the last one activated, or its predecessors in the map's history
  kStaged,
  kWithdrawn,
};

struct StoredRevision {
  uint64_t revision = 0;
  uint64_t parent = 0;  // 0: it was the first
  RevisionState state = RevisionState::kActive;
  int64_t committed_unix_ns = 0;
  int64_t activated_unix_ns = 0;  // 0: never
  std::string comment;
  std::string request_id;  // may be empty
  uint64_t tiles = 0;
  uint64_t points = 0;
  uint32_t added = 0;  // tiles, against the parent
  uint32_t replaced = 0;
  uint32_t removed = 0;
  // Of a staged revision: the vehicles that try it.
  std::vector<std::string> canary_vehicles;
};

struct StoredMap {
  std::string name;
  // How it is built, fixed when it is created, and where it lies on the earth, set once (empty: not
  // known), in encodings of the store's user.
  std::string build;
  std::string frame;
  uint64_t active_revision = 0;  // 0: only staged ones yet
  // Those that can be read, ascending: the newest ones that were activated, as many as are
  // retained, and all that are staged.
  std::vector<StoredRevision> revisions;
};

struct RevisionCommit {
  std::string map;
  // The revision that the change is based on, which must be the active one. 0: the map must not
  // exist, and `build` describes it.
  uint64_t base_revision = 0;
  std::string build;
  std::string frame;      // of the map from now on, also of a staged one; empty: as it was
  ManifestChange change;  // all content must be there
  std::string comment;
  std::string request_id;  // unique per map; empty: none
  bool stage = false;
  std::vector<std::string> canary_vehicles;  // of a staged one
};

struct CommittedRevision {
  StoredRevision revision;
  // Whether this request was committed before, as this revision, and nothing has changed now.
  bool repeated = false;
};

// Where a vehicle was last.
struct LastPose {
  std::string vehicle;
  std::string map;
  uint64_t revision = 0;
  int64_t stamp_unix_ns = 0;
  Pose map_T_base;
};

struct SavedPoses {
  std::vector<LastPose> poses;  // in the order in which they were saved
  int64_t latest_unix_ns = 0;   // when the last one was, by the store's clock
};

// How scans fitted a content of a tile.
struct StoredTileFit {
  std::string map;
  std::string tile_id;
  Sha256Digest digest{};
  int64_t last_used_unix_ns = 0;
  TileFit fit;  // as it was then
};

struct CollectReport {
  uint64_t revisions = 0;  // forgotten
  uint64_t contents = 0;   // freed
  uint64_t bytes = 0;      // of them, as stored
  bool more = false;       // whether the budget of this call ended first
};

struct StoreUsage {
  uint64_t bytes = 0;               // on the disk, or in memory
  uint64_t content_bytes = 0;       // as stored, compressed
  uint64_t unreferenced_bytes = 0;  // of it, held by no revision
  uint64_t contents = 0;
};

// The state of the maps of a store.
struct StoreChange {
  std::string fingerprint;  // of all maps; differs after every change
  // The maps changed since the previous StoreChange; nullopt: unknown.
  std::optional<std::vector<std::string>> maps;
};

// Watches changes that other processes make to the maps of a shared store. Not thread-safe except
// for Wake. Must not outlive the store.
class StoreWatch {
 public:
  virtual ~StoreWatch() = default;

  // Waits until a change of maps is announced, Wake is called, or `timeout` has passed. Returns the
  // current state, announced or not. Unavailable: the database does not respond; the message
  // contains its address and is for operators, not for clients.
  [[nodiscard]] virtual absl::StatusOr<StoreChange> Next(absl::Duration timeout) = 0;

  // Ends a wait that is under way, or the next one. From any thread.
  virtual void Wake() = 0;
};

// What a MapStore keeps, and for how long.
struct MapStoreOptions {
  uint32_t retained_revisions = 10;  // of each map that were activated, the active one included
  // Of content that no revision refers to, compressed.
  uint64_t max_unreferenced_bytes = uint64_t{64} << 30;
  double unreferenced_for_s = 24 * 3600.0;  // then it expires
  double withdrawn_for_s =
      24 * 3600.0;  // then a withdrawn revision, or a deleted map, is forgotten
  // How long the request of a revision beyond retention is still answered as repeated.
  double requests_for_s = 24 * 3600.0;
  uint32_t max_staged_revisions = 4;  // of each map
  uint32_t max_last_poses = 100000;   // of all vehicles; Collect drops the oldest
  uint32_t max_tile_fits = 100000;    // of all maps; likewise
  // Clock in nanoseconds since the Unix epoch; empty: the system's or, for a shared database, the
  // database's. Setting it back makes nothing expire early.
  std::function<int64_t()> unix_ns;
};

class ContentUpload;
class SqlBackend;

class MapStore {
 public:
  // Calls are transactions of the backend.
  MapStore(std::unique_ptr<SqlBackend> backend, const MapStoreOptions& options);
  ~MapStore();

  // Whether what is committed survives the end of the process.
  [[nodiscard]] bool durable() const;

  // Damage found by the check of the tables at the opening, one finding per entry. Content is
  // checked when it is read.
  [[nodiscard]] std::vector<std::string> damage() const;

  // Whether other processes change what is stored while this one has it open.
  [[nodiscard]] bool shared() const;
  // Null: it is not shared.
  [[nodiscard]] std::unique_ptr<StoreWatch> Watch();

  [[nodiscard]] absl::StatusOr<std::unique_ptr<ContentUpload>> Upload();

  // Which of these exist and are complete. Renews their time to expiry.
  [[nodiscard]] absl::StatusOr<std::vector<bool>> HasContent(
      absl::Span<const Sha256Digest> digests);

  // The maps of which a revision that is kept has a tile of this content, by name.
  [[nodiscard]] absl::StatusOr<std::vector<std::string>> MapsWithContent(
      const Sha256Digest& digest);

  // Calls `consume` with the content in pieces; its first error ends the reading and is returned.
  // NotFound; DataLoss: the digest does not match, detected at the end. The content is then
  // quarantined: HasContent returns false, reads fail with DataLoss immediately, and a new upload
  // replaces it everywhere.
  [[nodiscard]] absl::Status ReadContent(
      const Sha256Digest& digest, absl::FunctionRef<absl::Status(absl::string_view)> consume);

  // NotFound: no such map, or content that is not there, by tile; AlreadyExists: base_revision is 0
  // and there is such a map, or the map has another frame; Aborted: the base is not the active
  // revision.
  [[nodiscard]] absl::StatusOr<CommittedRevision> Commit(const RevisionCommit& commit);

  // The revision that this request was committed as, or nullopt.
  [[nodiscard]] absl::StatusOr<std::optional<StoredRevision>> FindRequest(
      absl::string_view map, absl::string_view request_id);

  // Makes a staged revision the active one. NotFound: no such map or revision; Aborted: its parent
  // is no longer the active revision; FailedPrecondition: it was withdrawn. Ok if it is already
  // active.
  [[nodiscard]] absl::StatusOr<StoredRevision> Activate(absl::string_view map, uint64_t revision);

  // Withdraws a staged revision. NotFound; FailedPrecondition: it was activated.
  [[nodiscard]] absl::StatusOr<StoredRevision> Withdraw(absl::string_view map, uint64_t revision);

  // Names the vehicles that try a staged revision. NotFound; FailedPrecondition: it is not staged.
  [[nodiscard]] absl::StatusOr<StoredRevision> SetCanary(absl::string_view map, uint64_t revision,
                                                         std::vector<std::string> vehicles);

  // Deletes a map with all revisions; returns the active one. They can be restored for
  // MapStoreOptions::withdrawn_for_s. NotFound; Aborted: the map is not at `revision` (0: any).
  [[nodiscard]] absl::StatusOr<uint64_t> DeleteMap(absl::string_view map, uint64_t revision);

  // Restores the most recently deleted map of this name; returns its active revision. NotFound: no
  // such map, it never had an active revision, or it has expired;
  // AlreadyExists: there is a map of this name.
  [[nodiscard]] absl::StatusOr<uint64_t> UndeleteMap(absl::string_view map);

  // By name.
  [[nodiscard]] absl::StatusOr<std::vector<StoredMap>> ListMaps();
  // NotFound.
  [[nodiscard]] absl::StatusOr<StoredMap> GetMap(absl::string_view map);
  // The tiles of a revision that can be read. NotFound: no such map or revision, or it is no longer
  // retained.
  [[nodiscard]] absl::StatusOr<Manifest> GetManifest(absl::string_view map, uint64_t revision);

  // One pose a vehicle; an earlier one is replaced. Not on the disk when the call returns.
  [[nodiscard]] absl::Status SaveLastPoses(absl::Span<const LastPose> poses);
  // NotFound.
  [[nodiscard]] absl::StatusOr<LastPose> GetLastPose(absl::string_view vehicle);
  // Of all vehicles on a map.
  [[nodiscard]] absl::StatusOr<std::vector<LastPose>> ListLastPoses(absl::string_view map);
  // Of all vehicles, those that were saved after a time of the store's clock.
  [[nodiscard]] absl::StatusOr<SavedPoses> ListPosesSavedSince(int64_t unix_ns);

  // One record a content of a tile; an earlier one is replaced. Those of maps that are not there
  // are left out. Not on the disk when the call returns. They go with their map.
  [[nodiscard]] absl::Status SaveTileFits(absl::Span<const StoredTileFit> fits);
  // Of all tiles of a map.
  [[nodiscard]] absl::StatusOr<std::vector<StoredTileFit>> ListTileFits(absl::string_view map);

  // Garbage collection: revisions beyond retention, expired unreferenced content, and abandoned
  // uploads. Takes a bounded time, in short transactions; call it periodically, and again while
  // `more` is set.
  [[nodiscard]] absl::StatusOr<CollectReport> Collect();

  // Writes a copy of the database to a new file, concurrently with other calls. AlreadyExists: the
  // file exists; Unimplemented: use the tools of the database instead. `progress`, from 0 to 1, may
  // return false to cancel: Cancelled, and no file is left.
  [[nodiscard]] absl::Status Backup(const std::string& path,
                                    absl::FunctionRef<bool(double)> progress);

  [[nodiscard]] absl::StatusOr<StoreUsage> Usage();

 private:
  friend class ContentUpload;

  // Whether `more` bytes of content may come. ResourceExhausted.
  [[nodiscard]] absl::Status CheckUnreferenced(uint64_t more);
  // Quarantines content that was found damaged, and names what uses it.
  [[nodiscard]] absl::Status ReportDamage(int64_t content, const Sha256Digest& digest,
                                          const absl::Status& damage);

  const std::unique_ptr<SqlBackend> backend_;
  const MapStoreOptions options_;

  absl::Mutex uploads_mutex_;
  std::set<int64_t> uploads_ ABSL_GUARDED_BY(uploads_mutex_);  // under way
  // Compressed bytes of content that no revision refers to, or more, when they were last counted,
  // with what came since.
  uint64_t unreferenced_upper_bound_ ABSL_GUARDED_BY(uploads_mutex_) = 0;
  absl::Time counted_at_ ABSL_GUARDED_BY(uploads_mutex_) = absl::InfinitePast();
};

// An upload of one content. Destroyed before Finish, it leaves nothing behind. It must not outlive
// the store. One thread at a time; an upload that has failed once stays failed.
class ContentUpload {
 public:
  explicit ContentUpload(MapStore& store) : store_(store) {}
  ContentUpload(const ContentUpload&) = delete;
  ContentUpload& operator=(const ContentUpload&) = delete;
  ~ContentUpload();

  // ResourceExhausted: what no revision refers to exceeds its limit.
  [[nodiscard]] absl::Status Append(absl::string_view bytes);

  // Keeps it under the digest of all its bytes, which is returned. Where the store has that content
  // already, this copy is dropped. It expires unless a revision refers to it in time. Fails as
  // Append does; the last call.
  [[nodiscard]] absl::StatusOr<Sha256Digest> Finish();

 private:
  // One transaction: the buffer as a piece and, where it is the last one, the digest of all.
  [[nodiscard]] absl::Status WritePiece(const Sha256Digest* digest);

  MapStore& store_;
  Sha256 hash_;
  std::string buffer_;
  int64_t content_ = 0;  // 0: no piece is kept yet
  uint64_t pieces_ = 0;
  bool named_ = false;  // the content is there under its digest
  absl::Status status_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_MAP_STORE_H_
