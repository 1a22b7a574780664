// SPDX-License-Identifier: Apache-2.0
//
// Changes of a map, all or nothing: begin, add and remove tiles, commit.
//
// Tiles go out in chunks of at most 1 MiB (less where the server asks for less), each with its
// CRC32C and the last with the digest of the whole tile, and several may be on their way before the
// first is acknowledged. Nothing of a transaction that is destroyed without Commit takes effect.
// For one thread. Every step that waits for the server does so for at most `timeout_s` an answer;
// after an error every further step returns it. map_upload.h goes on where a transaction broke.

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
  uint64_t tiles_sent = 0;    // acknowledged, their points having been sent
  uint64_t tiles_reused = 0;  // acknowledged, the server having their points
  uint64_t points_kept = 0;   // by the server, over both
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

  // Where begun().committed_revision() is not 0, the request was committed before: nothing need be
  // sent, and Commit answers as it did then.
  [[nodiscard]] const v1::UpdateBegun& begun() const;

  // Points in the map frame. Replaces the tile of the same id. DataLoss: they did not arrive as
  // they are.
  [[nodiscard]] absl::Status AddTile(const std::string& tile_id, const PointCloud& cloud_map);

  // The same, but sent only if the server does not have these points already. `digest` is theirs
  // (core/cloud/cloud_digest.h). The cloud is kept until the server has answered; of all such
  // clouds together at most 64 MiB of points are, besides the last.
  [[nodiscard]] absl::Status OfferTile(const std::string& tile_id, PointCloud cloud_map,
                                       const Sha256Digest& digest);

  // A tile whose points the server may have, by their digest. Whether it has them, TakeMissing
  // tells, once Settle has returned.
  [[nodiscard]] absl::Status ReuseTile(const std::string& tile_id, const Sha256Digest& digest);

  [[nodiscard]] absl::Status RemoveTile(const std::string& tile_id);

  // Waits until everything so far is acknowledged.
  [[nodiscard]] absl::Status Settle();

  // Ids of the tiles given to ReuseTile that are to be added with their points, in their order,
  // those answered since the last call.
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
