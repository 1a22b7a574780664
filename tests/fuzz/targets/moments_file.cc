// SPDX-License-Identifier: Apache-2.0
//
// A folder of moments of which a file is overwritten in places: its files are read, written and
// removed.

#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/checksum/sha256.h"
#include "server/maps/moments/moments_cache.h"
#include "tests/fuzz/database_edits.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {
namespace {

using server::MomentsFolder;

constexpr uint32_t kVersion = 1;
constexpr int kFiles = 4;

std::string KeyOf(int file) {
  CellStatistics statistics;
  statistics.cell_size_m = 1.0 + file % 2;
  return server::MomentsKey(Sha256Of(std::to_string(file)), {statistics});
}

std::string BytesOf(int file) { return std::string(3000, static_cast<char>('a' + file)); }

}  // namespace

absl::Status FuzzMomentsFile(absl::string_view bytes) {
  static const std::string& path =
      *new std::string((std::filesystem::temp_directory_path() / "voxloc_fuzz_moments_").string() +
                       std::to_string(::getpid()));
  std::filesystem::remove_all(path);
  auto folder = MomentsFolder::Open(path, kVersion);
  FuzzRequire(folder.ok(), "a folder can be made");
  FuzzRequire((*folder)->Write(KeyOf(0), BytesOf(0)).ok(), "a file can be written");
  const std::string file = std::filesystem::directory_iterator(path)->path().string();
  const std::string good = ReadDatabase(file);
  for (int i = 1; i < kFiles; ++i) {
    FuzzRequire((*folder)->Write(KeyOf(i), BytesOf(i)).ok(), "a file can be written");
  }
  WriteDatabase(file, WithEdits(good, bytes));
  absl::Status status;
  for (int i = 0; i < kFiles; ++i) {
    // The bytes carry a checksum of their own; here only their being those of this key counts.
    const auto read = (*folder)->Read(KeyOf(i));
    status.Update(read.status());
    FuzzRequire(i == 0 || (read.ok() && *read == BytesOf(i)), "other files are as they were");
  }
  FuzzRequire((*folder)->Write(KeyOf(0), BytesOf(1)).ok(), "a file can be replaced");
  (*folder)->Remove(KeyOf(1));
  FuzzRequire((*folder)->Shrink(1) == kFiles - 1, "all that is left can be removed");
  std::filesystem::remove_all(path);
  return status;
}

}  // namespace voxloc
