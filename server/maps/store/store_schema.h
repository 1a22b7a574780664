// SPDX-License-Identifier: Apache-2.0
//
// The tables of the map store, as steps that bring an older database to them.
//
// Types and statements keep to what SQLite and PostgreSQL both have. Unsigned numbers are kept as
// BIGINT, truth as SMALLINT 0 or 1, names as TEXT, times as nanoseconds since the Unix epoch. Where
// the two differ, the steps say what SQLite says: BLOB and AUTOINCREMENT, which PostgreSQL's
// dialect has other words for.

#ifndef VOXLOC_SERVER_MAPS_STORE_STORE_SCHEMA_H_
#define VOXLOC_SERVER_MAPS_STORE_STORE_SCHEMA_H_

#include <cstdint>

#include "absl/types/span.h"

namespace voxloc::server {

// Step i brings a database of version i to version i + 1.
[[nodiscard]] absl::Span<const char* const> StoreSchemaSteps();

// Of this program: how many steps there are.
[[nodiscard]] int64_t StoreSchemaVersion();

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_STORE_SCHEMA_H_
