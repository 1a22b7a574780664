// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/sql_map_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/maps/store/collect_rows.h"
#include "server/maps/store/content_piece.h"
#include "server/maps/store/fit_rows.h"
#include "server/maps/store/pose_rows.h"
#include "server/maps/store/sql_upload.h"

namespace voxloc::server {
namespace {

// How much of a time to expiry content that is asked for again may have used before that is noted:
// noting it costs a write.
constexpr int64_t kFreshPart = 16;
// What others have uploaded meanwhile may come on top of the limit of what no revision refers to. A
// link of 10 Gbit/s brings 1.25 GB in this time, 2 % of the limit's default.
constexpr absl::Duration kRecountAfter = absl::Seconds(1);

int64_t ToNs(double seconds) {
  const double ns = seconds * 1e9;
  return ns < 9e18 ? static_cast<int64_t>(ns) : std::numeric_limits<int64_t>::max() / 2;
}

// `ns` before a time, or the earliest time of all but kNeverWanted.
int64_t Before(int64_t unix_ns, int64_t ns) {
  const int64_t earliest = kNeverWanted + 1;
  return unix_ns < earliest + ns ? earliest : unix_ns - ns;
}

// `use`: what has it, or nothing.
absl::Status DamagedContent(const Sha256Digest& digest, absl::string_view use,
                            absl::string_view detail) {
  return absl::DataLossError(absl::StrCat("content ", ToHex(digest), use.empty() ? "" : " of ", use,
                                          " is damaged: ", detail));
}

}  // namespace

template <typename Result>
absl::StatusOr<Result> SqlMapStore::Change(
    absl::string_view map,
    absl::FunctionRef<absl::StatusOr<Result>(SqlDatabase&, const StoreTime&)> body) {
  absl::StatusOr<Result> result = absl::InternalError("");
  absl::Status status = Write(Sync::kFull, [&](SqlDatabase& database, const StoreTime& now) {
    result = body(database, now);
    return result.ok() ? NoteChange(database, map) : result.status();
  });
  if (!status.ok()) return Explained(status);
  return result;
}

template <typename Result>
absl::StatusOr<Result> SqlMapStore::Ask(
    absl::FunctionRef<absl::StatusOr<Result>(SqlDatabase&)> body) {
  absl::StatusOr<Result> result = absl::InternalError("");
  absl::Status status = ReadAtOnce([&](SqlDatabase& database) {
    result = body(database);
    return result.status();
  });
  if (!status.ok()) return Explained(status);
  return result;
}

absl::StatusOr<std::unique_ptr<ContentUpload>> SqlMapStore::Upload() {
  if (absl::Status status = CheckWritable(); !status.ok()) return status;
  return std::make_unique<SqlUpload>(*this);
}

absl::StatusOr<std::vector<bool>> SqlMapStore::HasContent(absl::Span<const Sha256Digest> digests) {
  std::vector<bool> there;
  absl::Status status =
      Write(Sync::kNormal, [&](SqlDatabase& database, const StoreTime& now) -> absl::Status {
        auto found = WantContent(database, digests, now.store_unix_ns,
                                 ToNs(options_.unreferenced_for_s) / kFreshPart);
        if (!found.ok()) return found.status();
        there = *std::move(found);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return there;
}

absl::StatusOr<std::vector<std::string>> SqlMapStore::MapsWithContent(const Sha256Digest& digest) {
  return Ask<std::vector<std::string>>(
      [&](SqlDatabase& database) { return FindMapsWithContent(database, digest); });
}

absl::StatusOr<CommittedRevision> SqlMapStore::Commit(const RevisionCommit& commit) {
  return Change<CommittedRevision>(commit.map, [&](SqlDatabase& database, const StoreTime& now) {
    return CommitRevision(database, commit, options_.max_staged_revisions, now);
  });
}

absl::StatusOr<std::optional<StoredRevision>> SqlMapStore::FindRequest(
    absl::string_view map, absl::string_view request_id) {
  return Ask<std::optional<StoredRevision>>(
      [&](SqlDatabase& database) { return FindRequestRow(database, map, request_id); });
}

absl::StatusOr<StoredRevision> SqlMapStore::Activate(absl::string_view map, uint64_t revision) {
  return Change<StoredRevision>(map, [&](SqlDatabase& database, const StoreTime& now) {
    return ActivateRevision(database, map, revision, now);
  });
}

absl::StatusOr<StoredRevision> SqlMapStore::Withdraw(absl::string_view map, uint64_t revision) {
  return Change<StoredRevision>(map, [&](SqlDatabase& database, const StoreTime& now) {
    return WithdrawRevision(database, map, revision, now);
  });
}

absl::StatusOr<StoredRevision> SqlMapStore::SetCanary(absl::string_view map, uint64_t revision,
                                                      std::vector<std::string> vehicles) {
  return Change<StoredRevision>(map, [&](SqlDatabase& database, const StoreTime& /*now*/) {
    return SetCanaryRows(database, map, revision, vehicles);
  });
}

absl::StatusOr<uint64_t> SqlMapStore::DeleteMap(absl::string_view map, uint64_t revision) {
  return Change<uint64_t>(map, [&](SqlDatabase& database, const StoreTime& now) {
    return DeleteMapRow(database, map, revision, now);
  });
}

absl::StatusOr<uint64_t> SqlMapStore::UndeleteMap(absl::string_view map) {
  return Change<uint64_t>(map, [&](SqlDatabase& database, const StoreTime& /*now*/) {
    return UndeleteMapRow(database, map);
  });
}

absl::StatusOr<std::vector<StoredMap>> SqlMapStore::ListMaps() {
  return Ask<std::vector<StoredMap>>(
      [this](SqlDatabase& database) { return ReadMaps(database, options_.retained_revisions); });
}

absl::StatusOr<StoredMap> SqlMapStore::GetMap(absl::string_view map) {
  return Ask<StoredMap>(
      [&](SqlDatabase& database) { return ReadMap(database, map, options_.retained_revisions); });
}

absl::StatusOr<Manifest> SqlMapStore::GetManifest(absl::string_view map, uint64_t revision) {
  return Ask<Manifest>([&](SqlDatabase& database) {
    return ReadManifest(database, map, revision, options_.retained_revisions);
  });
}

absl::Status SqlMapStore::SaveLastPoses(absl::Span<const LastPose> poses) {
  return Write(Sync::kNormal, [&](SqlDatabase& database, const StoreTime& now) {
    return SavePoses(database, poses, now.store_unix_ns);
  });
}

absl::StatusOr<LastPose> SqlMapStore::GetLastPose(absl::string_view vehicle) {
  return Ask<LastPose>([&](SqlDatabase& database) { return ReadPose(database, vehicle); });
}

absl::StatusOr<std::vector<LastPose>> SqlMapStore::ListLastPoses(absl::string_view map) {
  return Ask<std::vector<LastPose>>(
      [&](SqlDatabase& database) { return ReadPosesOfMap(database, map); });
}

absl::StatusOr<SavedPoses> SqlMapStore::ListPosesSavedSince(int64_t unix_ns) {
  return Ask<SavedPoses>(
      [&](SqlDatabase& database) { return ReadPosesSavedSince(database, unix_ns); });
}

absl::Status SqlMapStore::SaveTileFits(absl::Span<const StoredTileFit> fits) {
  return Write(Sync::kNormal, [&](SqlDatabase& database, const StoreTime& /*now*/) {
    return SaveFitRows(database, fits);
  });
}

absl::StatusOr<std::vector<StoredTileFit>> SqlMapStore::ListTileFits(absl::string_view map) {
  return Ask<std::vector<StoredTileFit>>(
      [&](SqlDatabase& database) { return ReadFitRows(database, map); });
}

absl::Status SqlMapStore::ReadContent(const Sha256Digest& digest,
                                      absl::FunctionRef<absl::Status(absl::string_view)> take) {
  const auto absent = [&digest] {
    return absl::NotFoundError(absl::StrCat("no content ", ToHex(digest)));
  };
  std::optional<ContentRow> content;
  std::string quarantined_use;
  bool quarantined = false;
  absl::Status status = Read([&](SqlDatabase& database) -> absl::Status {
    const auto found = FindContent(database, digest);
    if (!found.ok()) return found.status();
    content = *found;
    if (content.has_value()) return absl::OkStatus();
    const auto damaged = FindQuarantined(database, digest);
    if (!damaged.ok()) return damaged.status();
    quarantined = damaged->has_value();
    if (quarantined) quarantined_use = DescribeUse(database, **damaged);
    return absl::OkStatus();
  });
  if (!status.ok()) return Explained(status);
  if (quarantined) {
    return DamagedContent(digest, quarantined_use, "found so before; upload it again");
  }
  if (!content.has_value()) return absent();

  Sha256 hash;
  for (uint64_t i = 0; i < content->pieces; ++i) {
    std::optional<PackedPiece> packed;
    bool there = true;
    status = Read([&](SqlDatabase& database) -> absl::Status {
      auto piece = ReadPiece(database, content->id, i);
      if (!piece.ok()) return piece.status();
      packed = *std::move(piece);
      if (packed.has_value()) return absl::OkStatus();
      const auto row = HasContentRow(database, content->id);
      if (row.ok()) there = *row;
      return row.status();
    });
    if (status.ok() && !there) return absent();  // it was freed meanwhile
    if (status.ok() && !packed.has_value()) {
      status = absl::DataLossError(absl::StrCat("piece ", i, " is missing"));
    }
    if (!status.ok()) {
      return absl::IsDataLoss(status) ? ReportDamage(content->id, digest, status) : status;
    }
    const auto raw = UnpackPiece(packed->raw_bytes, packed->crc32c, packed->data);
    if (!raw.ok()) return ReportDamage(content->id, digest, raw.status());
    hash.Update(*raw);
    if (absl::Status taken = take(*raw); !taken.ok()) return taken;
  }
  if (hash.Finish() == digest) return absl::OkStatus();
  return ReportDamage(content->id, digest, absl::DataLossError("the bytes have another digest"));
}

absl::Status SqlMapStore::ReportDamage(int64_t content, const Sha256Digest& digest,
                                       const absl::Status& damage) {
  std::string use;
  const absl::Status quarantined =
      Write(Sync::kNormal, [&](SqlDatabase& database, const StoreTime& /*now*/) {
        use = DescribeUse(database, content);
        return Quarantine(database, content);
      });
  return DamagedContent(
      digest, use,
      absl::StrCat(damage.message(), quarantined.ok() ? std::string("; upload it again")
                                                      : absl::StrCat("; it cannot be marked: ",
                                                                     quarantined.message())));
}

absl::StatusOr<CollectReport> SqlMapStore::Collect() {
  CollectReport report;
  CollectLimits limits;
  absl::Status status = Write(Sync::kNormal, [&](SqlDatabase& database, const StoreTime& time) {
    const int64_t now = time.store_unix_ns;
    limits.retained_revisions = options_.retained_revisions;
    limits.withdrawn_unix_ns = Before(now, ToNs(options_.withdrawn_for_s));
    limits.requests_unix_ns = Before(now, ToNs(options_.requests_for_s));
    limits.unreferenced_unix_ns = Before(now, ToNs(options_.unreferenced_for_s));
    limits.max_last_poses = options_.max_last_poses;
    limits.max_tile_fits = options_.max_tile_fits;
    return ForgetRevisions(database, limits, report);
  });
  if (!status.ok()) return status;
  status = Write(Sync::kNormal, [&](SqlDatabase& database, const StoreTime& /*now*/) {
    return FreeUnreferenced(database, limits, uploads(), report);
  });
  if (status.ok()) status = Shrink(report);
  if (!status.ok()) return status;
  return report;
}

absl::StatusOr<StoreUsage> SqlMapStore::Usage() {
  StoreUsage usage;
  absl::Status status = Read([&](SqlDatabase& database) -> absl::Status {
    const auto bytes = StoredBytes(database);
    if (!bytes.ok()) return bytes.status();
    usage.bytes = *bytes;
    return ReadContentUsage(database, usage);
  });
  if (!status.ok()) return Explained(status);
  return usage;
}

absl::Status SqlMapStore::CheckUnreferenced(uint64_t more) {
  const uint64_t limit = options_.max_unreferenced_bytes;
  {
    const absl::MutexLock lock(&uploads_mutex_);
    const bool fresh =
        counted_ != absl::InfinitePast() && (!shared_ || absl::Now() - counted_ < kRecountAfter);
    if (fresh && unreferenced_at_most_ + more <= limit) return absl::OkStatus();
  }
  // Some of it may have come into use since it was counted.
  uint64_t bytes = 0;
  absl::Status status = Read([&](SqlDatabase& database) {
    const auto counted = UnreferencedBytes(database);
    if (counted.ok()) bytes = *counted;
    return counted.status();
  });
  if (!status.ok()) return status;
  const absl::MutexLock lock(&uploads_mutex_);
  unreferenced_at_most_ = bytes;
  counted_ = absl::Now();
  if (bytes + more <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("content that no revision refers to has ", bytes,
                                                   " bytes, and its limit is ", limit));
}

void SqlMapStore::AddUnreferenced(uint64_t bytes) {
  const absl::MutexLock lock(&uploads_mutex_);
  unreferenced_at_most_ += bytes;
}

void SqlMapStore::BeginUpload(int64_t content) {
  const absl::MutexLock lock(&uploads_mutex_);
  uploads_.insert(content);
}

void SqlMapStore::EndUpload(int64_t content) {
  const absl::MutexLock lock(&uploads_mutex_);
  uploads_.erase(content);
}

std::set<int64_t> SqlMapStore::uploads() {
  const absl::MutexLock lock(&uploads_mutex_);
  return uploads_;
}

}  // namespace voxloc::server
