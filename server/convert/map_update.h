// SPDX-License-Identifier: Apache-2.0
//
// The messages of a map transaction as MapTransaction takes them, checked. Thread-safe: no shared
// state. Errors are InvalidArgument, unless said otherwise.

#ifndef VOXLOC_SERVER_CONVERT_MAP_UPDATE_H_
#define VOXLOC_SERVER_CONVERT_MAP_UPDATE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/checksum/sha256.h"
#include "server/config/config.h"
#include "server/maps/map_transaction.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::server {

[[nodiscard]] absl::StatusOr<TransactionBegin> BeginFromProto(const v1::BeginUpdate& proto);

// Of a `sha256` field.
[[nodiscard]] absl::StatusOr<Sha256Digest> DigestFromProto(absl::string_view bytes);

// `bytes` of the chunk are those of the message, which must outlive it. DataLoss, with the reason
// CHECKSUM_MISMATCH: the bytes do not have the CRC32C that came with them; ResourceExhausted: they
// are more than the limit.
[[nodiscard]] absl::StatusOr<TileChunk> ChunkFromProto(const v1::TileChunk& proto,
                                                       const Limits& limits);

[[nodiscard]] absl::StatusOr<TransactionCommit> CommitFromProto(const v1::CommitUpdate& proto);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_MAP_UPDATE_H_
