// SPDX-License-Identifier: Apache-2.0
//
// A cache of moments whose database is overwritten in places: its entries are read, written and
// removed.

#include "server/maps/moments/moments_file.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/checksum/sha256.h"
#include "tests/fuzz/database_edits.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using server::MomentsFile;
using server::MomentsKey;

constexpr uint32_t kVersion = 1;
constexpr int kEntries = 4;

MomentsKey KeyOf(int entry) {
  MomentsKey key;
  key.digest = Sha256Of(std::to_string(entry));
  key.lattices = "lattices of " + std::to_string(entry % 2);
  return key;
}

std::string BytesOf(int entry) { return std::string(3000, static_cast<char>('a' + entry)); }

std::string MakeMomentsDatabase() {
  const ScratchDir folder;
  const std::string path = folder.Path("moments.db");
  {
    auto file = MomentsFile::Open(path, kVersion);
    FuzzRequire(file.ok(), "a cache can be made");
    for (int i = 0; i < kEntries; ++i) {
      FuzzRequire((*file)->Write(KeyOf(i), BytesOf(i), 100 + i).ok(), "an entry can be written");
    }
  }
  return ReadDatabase(path);
}

}  // namespace

absl::Status FuzzMomentsFile(absl::string_view bytes) {
  static const std::string& good = *new std::string(MakeMomentsDatabase());
  static const std::string& path =
      *new std::string((std::filesystem::temp_directory_path() / "voxloc_fuzz_moments_").string() +
                       std::to_string(::getpid()));
  FuzzRequire(MomentsFile::Remove(path).ok(), "a cache can be removed");
  WriteDatabase(path, WithEdits(good, bytes));
  absl::Status status;
  {
    auto file = MomentsFile::Open(path, kVersion);
    status = file.status();
    for (int i = 0; file.ok() && i < kEntries; ++i) {
      const auto entry = (*file)->Read(KeyOf(i));
      status.Update(entry.status());
      // The bytes carry a checksum of their own; here only their being those of this key counts.
      if (!entry.ok() || !entry->has_value()) continue;
      status.Update((*file)->SetUsed({(*entry)->id}, 200));
    }
    if (file.ok()) {
      status.Update((*file)->Write(KeyOf(0), BytesOf(1), 300));
      status.Update((*file)->Erase({1, 2}));
      status.Update((*file)->Shrink(1).status());
      (void)(*file)->bytes();
    }
  }
  FuzzRequire(MomentsFile::Remove(path).ok(), "a cache can be removed");
  return status;
}

}  // namespace voxloc
