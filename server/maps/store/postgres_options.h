// SPDX-License-Identifier: Apache-2.0
//
// PostgresOptions: where a store in PostgreSQL is, and how long it may take. A plain value.

#ifndef VOXLOC_SERVER_MAPS_STORE_POSTGRES_OPTIONS_H_
#define VOXLOC_SERVER_MAPS_STORE_POSTGRES_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace voxloc::server {

struct PostgresOptions {
  std::string url;  // postgresql://USER@HOST:PORT/DATABASE?..., without a password
  absl::Duration connect_timeout = absl::Seconds(3);
  absl::Duration request_timeout = absl::Seconds(10);  // of a statement
  uint32_t max_readers = 8;  // connections that read, besides the two for the rest
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_MAPS_STORE_POSTGRES_OPTIONS_H_
