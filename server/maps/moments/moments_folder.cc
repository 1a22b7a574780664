// SPDX-License-Identifier: Apache-2.0

#include "server/maps/moments/moments_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/maps/store/directory_lock.h"

namespace voxloc::server {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kSuffix = ".moments";
constexpr absl::string_view kUnfinishedSuffix = ".moments.new";
// A time of use is noted again when it is an hour old: the order of files matters over days, and
// restarts in short order write nothing.
constexpr std::chrono::hours kTouchInterval{1};
// Of a file; what is longer was not written here.
constexpr size_t kMaxFileBytes = size_t{1} << 30;

struct File {
  fs::file_time_type used;
  std::string name;
  int64_t bytes = 0;
};

// Files with this suffix. A file that another process removes concurrently is skipped.
std::vector<File> FilesIn(const std::string& folder, absl::string_view suffix) {
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    File file{it->last_write_time(gone), it->path().filename().string(), 0};
    if (gone || !absl::EndsWith(file.name, suffix)) continue;
    file.bytes = static_cast<int64_t>(it->file_size(gone));
    if (!gone) files.push_back(std::move(file));
  }
  return files;
}

bool RemoveFile(const std::string& path) {
  std::error_code error;
  return fs::remove(path, error);
}

}  // namespace

std::string MomentsKey(const Sha256Digest& digest, absl::Span<const CellStatistics> statistics) {
  std::map<double, bool> lattices;  // by cell size: whether float sums are wanted
  for (const CellStatistics& s : statistics) lattices[s.cell_size_m] |= s.float_index;
  std::string key = ToHex(digest);
  char separator = '-';
  for (const auto& [cell_size_m, float_sums] : lattices) {
    // 17 digits distinguish every double from its neighbours.
    absl::StrAppendFormat(&key, "%c%.17g%s", separator, cell_size_m, float_sums ? "f" : "");
    separator = ',';
  }
  return key;
}

MomentsFolder::MomentsFolder(const std::string& path, uint32_t version)
    : path_(path + "/"), version_(absl::StrCat("v", version, "-")) {}

absl::StatusOr<std::unique_ptr<MomentsFolder>> MomentsFolder::Open(const std::string& path,
                                                                   uint32_t version) {
  std::error_code error;
  fs::create_directory(path, error);
  if (error) return SystemError(path + " cannot be created", error.value());
  auto folder = absl::WrapUnique(new MomentsFolder(path, version));
  for (const File& file : FilesIn(path, kUnfinishedSuffix)) RemoveFile(folder->path_ + file.name);
  for (const File& file : FilesIn(path, kSuffix)) {
    if (absl::StartsWith(file.name, folder->version_)) {
      folder->bytes_ += file.bytes;
    } else if (RemoveFile(folder->path_ + file.name)) {
      ++folder->outdated_;
    }
  }
  return folder;
}

std::string MomentsFolder::NameOf(absl::string_view key) const {
  return absl::StrCat(version_, key, kSuffix);
}

absl::StatusOr<std::optional<std::string>> MomentsFolder::Read(absl::string_view key) const {
  const std::string name = NameOf(key);
  const std::string path = path_ + name;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  const std::streamoff size = file.tellg();
  std::string bytes;
  if (size > 0 && static_cast<uint64_t>(size) <= kMaxFileBytes) {
    bytes.resize(static_cast<size_t>(size));
    file.seekg(0);
    file.read(bytes.data(), size);
  }
  if (!file || !absl::StartsWith(bytes, name)) {
    return absl::DataLossError("the file of moments is not that of the tile, or cannot be read");
  }
  std::error_code error;
  const fs::file_time_type now = fs::file_time_type::clock::now();
  const fs::file_time_type used = fs::last_write_time(path, error);
  if (!error && now - used >= kTouchInterval) fs::last_write_time(path, now, error);
  bytes.erase(0, name.size());
  return bytes;
}

absl::Status MomentsFolder::Write(absl::string_view key, absl::string_view bytes) {
  static std::atomic<uint64_t> files{0};  // of this process
  const std::string name = NameOf(key);
  const std::string unfinished = absl::StrCat(path_, ::getpid(), "-", ++files, kUnfinishedSuffix);
  const size_t size = name.size() + bytes.size();
  if (size > kMaxFileBytes) return absl::InvalidArgumentError("the tile has too many moments");
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << name << bytes;
  file.close();
  std::error_code error;
  if (!file) error.assign(errno != 0 ? errno : EIO, std::generic_category());
  std::error_code none;
  const uintmax_t replaced = fs::file_size(path_ + name, none);
  if (!error) fs::rename(unfinished, path_ + name, error);
  if (error) {
    RemoveFile(unfinished);
    return SystemError(unfinished + " cannot be written", error.value());
  }
  bytes_ += static_cast<int64_t>(size) - (none ? 0 : static_cast<int64_t>(replaced));
  return absl::OkStatus();
}

void MomentsFolder::Remove(absl::string_view key) {
  const std::string path = path_ + NameOf(key);
  std::error_code none;
  const uintmax_t bytes = fs::file_size(path, none);
  if (!none && RemoveFile(path)) bytes_ -= static_cast<int64_t>(bytes);
}

uint64_t MomentsFolder::Shrink(uint64_t max_bytes) {
  if (bytes() <= max_bytes) return 0;
  std::vector<File> files = FilesIn(path_, kSuffix);
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::tie(a.used, a.name) < std::tie(b.used, b.name);
  });
  uint64_t left = 0;
  for (const File& file : files) left += static_cast<uint64_t>(file.bytes);
  // Frees some more, so that not every later write scans all files.
  const uint64_t enough = left > max_bytes ? max_bytes - max_bytes / 16 : left;
  uint64_t removed = 0;
  for (const File& file : files) {
    if (left <= enough) break;
    if (!RemoveFile(path_ + file.name)) continue;
    left -= static_cast<uint64_t>(file.bytes);
    ++removed;
  }
  bytes_ = static_cast<int64_t>(left);
  return removed;
}

uint64_t MomentsFolder::bytes() const {
  return static_cast<uint64_t>(std::max<int64_t>(bytes_.load(), 0));
}

}  // namespace voxloc::server
