// SPDX-License-Identifier: Apache-2.0
//
// DatabaseEdits: a database file as a disk may have spoilt it: a good one, of which some bytes are
// overwritten. Fuzzed bytes say which: for each edit four bytes of a place in the file, one of a
// length, and so many bytes. No thread safety.

#ifndef VOXLOC_TESTS_FUZZ_DATABASE_EDITS_H_
#define VOXLOC_TESTS_FUZZ_DATABASE_EDITS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/string_view.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

inline std::string ReadDatabase(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  FuzzRequire(!bytes.str().empty(), "there is a database");
  return bytes.str();
}

// Places are taken modulo the size; what the last edit lacks is left as it is.
inline std::string WithEdits(std::string database, absl::string_view edits) {
  constexpr size_t kHead = sizeof(uint32_t) + 1;
  while (edits.size() > kHead) {
    uint32_t place = 0;
    std::memcpy(&place, edits.data(), sizeof(place));
    const size_t length = static_cast<uint8_t>(edits[sizeof(place)]);
    const absl::string_view bytes = edits.substr(kHead, length);
    for (size_t i = 0; i < bytes.size(); ++i) database[(place + i) % database.size()] = bytes[i];
    edits.remove_prefix(kHead + bytes.size());
  }
  return database;
}

inline void WriteDatabase(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  FuzzRequire(static_cast<bool>(file), "a database can be written");
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_FUZZ_DATABASE_EDITS_H_
