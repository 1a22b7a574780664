// SPDX-License-Identifier: Apache-2.0
//
// Changes of a map, all or nothing: begin, add and remove tiles, commit.
//
// Tiles go out in chunks of at most 1 MiB (less where the server asks for less), each with its
// CRC32C and the last with the digest of the whole tile; several may be unacknowledged at a time. A
// transaction that is destroyed without Commit has no effect. Not thread-safe. Waits for at most
// `timeout_s` per response; after an error every further call returns it. map_upload.h resumes
// after a lost connection.

#ifndef VOXLOC_CLIENTS_CPP_MAP_TRANSACTION_H_
#define VOXLOC_CLIENTS_CPP_MAP_TRANSACTION_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cpp/channel.h"
#include "core/checksum/sha256.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::client {

struct TransactionOptions {
  // Map, create, clear, base revision, options, request_id, from_revision.
  v1::BeginUpdate begin;
  // For each answer. 0: no limit.
  double timeout_s = 60.0;
  // Most bytes of points in a chunk; the server's own limit holds as well.
  size_t max_chunk_bytes = size_t{1} << 20;
};

// Of a transaction so far.
struct TransactionCounts {
  uint64_t tiles_sent = 0;    // acknowledged tiles whose points were sent
  uint64_t tiles_reused = 0;  // acknowledged tiles whose points the server already had
  uint64_t points_kept = 0;   // by the server, of both
  uint64_t points_not_finite = 0;
  uint64_t bytes_sent = 0;  // of points, acknowledged or not
};

class MapTransaction {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<MapTransaction>> Begin(
      const Channel& channel, const TransactionOptions& options);
  // Cancels what was not committed.
  ~MapTransaction();
  MapTransaction(const MapTransaction&) = delete;
  MapTransaction& operator=(const MapTransaction&) = delete;

  // If begun().committed_revision() is not 0, this request_id was committed before: nothing need be
  // sent, and Commit returns the earlier result.
  [[nodiscard]] const v1::UpdateBegun& begun() const;

  // Points in the map frame. Replaces the tile of the same id. DataLoss: they were corrupted on the
  // way to the server.
  [[nodiscard]] absl::Status AddTile(const std::string& tile_id, const PointCloud& cloud_map);

  // The same, but the points are sent only if the server does not have them. `digest`: that of the
  // points (core/cloud/cloud_digest.h). Clouds are kept until the server answers; blocks while the
  // kept ones have more than 64 MiB of points.
  [[nodiscard]] absl::Status OfferTile(const std::string& tile_id, PointCloud cloud_map,
                                       const Sha256Digest& digest);

  // Adds a tile by the digest of its points, without sending them. After Flush, TakeMissing
  // returns the tiles whose points the server does not have.
  [[nodiscard]] absl::Status ReuseTile(const std::string& tile_id, const Sha256Digest& digest);

  [[nodiscard]] absl::Status RemoveTile(const std::string& tile_id);

  // Waits until all tiles so far are acknowledged.
  [[nodiscard]] absl::Status Flush();

  // Ids of the tiles given to ReuseTile that must be added with their points, in order: those
  // reported missing since the last call.
  [[nodiscard]] std::vector<std::string> TakeMissing();

  // Waits for every acknowledgement, then makes the changes the map's next revision.
  // FailedPrecondition: a tile given to ReuseTile is missing.
  [[nodiscard]] absl::StatusOr<v1::UpdateCommitted> Commit(const v1::CommitUpdate& commit);

  [[nodiscard]] const TransactionCounts& counts() const;

 private:
  struct Impl;
  explicit MapTransaction(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_MAP_TRANSACTION_H_
