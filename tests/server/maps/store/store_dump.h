// SPDX-License-Identifier: Apache-2.0
//
// All that a store must keep, as one text: two stores that went through the same have the same.

#ifndef VOXLOC_TESTS_SERVER_MAPS_STORE_STORE_DUMP_H_
#define VOXLOC_TESTS_SERVER_MAPS_STORE_STORE_DUMP_H_

#include <string>

#include "server/maps/store/map_store.h"

namespace voxloc::server {

// Maps, revisions that can be read, their tiles, and that the bytes of each tile have its digest
// and checksum. What is wrong is in the text as well.
[[nodiscard]] std::string DumpOf(MapStore& store);

// What SQLite and the counts of uses say against the database of a directory that nobody has open;
// empty: nothing.
[[nodiscard]] std::string FaultsOf(const std::string& directory);

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_SERVER_MAPS_STORE_STORE_DUMP_H_
