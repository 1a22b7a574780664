// SPDX-License-Identifier: Apache-2.0

#include "core/map/map_catalogue.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace voxloc {

absl::StatusOr<std::shared_ptr<const MapSnapshot>> MapCatalogue::Find(
    absl::string_view name) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  if (it != maps_.end()) return it->second;
  const auto append_name = [](std::string* out, const auto& entry) { *out += entry.first; };
  return absl::NotFoundError(absl::StrCat(
      "no map \"", name, "\"; ",
      maps_.empty() ? std::string("the server has none")
                    : absl::StrCat("there are: ", absl::StrJoin(maps_, ", ", append_name))));
}

std::vector<std::shared_ptr<const MapSnapshot>> MapCatalogue::List() const {
  absl::ReaderMutexLock lock(&mutex_);
  std::vector<std::shared_ptr<const MapSnapshot>> snapshots;
  snapshots.reserve(maps_.size());
  for (const auto& [name, snapshot] : maps_) snapshots.push_back(snapshot);
  return snapshots;
}

absl::Status MapCatalogue::Publish(std::shared_ptr<const MapSnapshot> snapshot,
                                   uint64_t base_revision) {
  if (snapshot->revision <= base_revision) {
    return absl::InvalidArgumentError(
        absl::StrCat("revision ", snapshot->revision, " cannot follow revision ", base_revision));
  }
  absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(snapshot->name);
  const uint64_t current = it == maps_.end() ? 0 : it->second->revision;
  if (current != base_revision) {
    return absl::AbortedError(absl::StrCat("map \"", snapshot->name, "\" is at revision ", current,
                                           ", not at ", base_revision,
                                           " on which the update is based"));
  }
  if (it == maps_.end() && maps_.size() >= max_maps_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server holds ", maps_.size(), " maps, its limit; delete one first"));
  }
  // The replaced snapshot is freed outside the lock, by whoever holds it last.
  if (it == maps_.end()) {
    maps_.emplace(snapshot->name, std::move(snapshot));
  } else {
    it->second.swap(snapshot);
  }
  return absl::OkStatus();
}

absl::Status MapCatalogue::Remove(absl::string_view name) {
  std::shared_ptr<const MapSnapshot> removed;
  absl::MutexLock lock(&mutex_);
  const auto it = maps_.find(name);
  if (it == maps_.end()) return absl::NotFoundError(absl::StrCat("no map \"", name, "\""));
  removed = std::move(it->second);
  maps_.erase(it);
  return absl::OkStatus();
}

absl::Status ValidateMapName(absl::string_view name) {
  constexpr size_t kMaxLength = 64;
  if (name.empty() || name.size() > kMaxLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("map name has ", name.size(), " characters; allowed is 1 to ", kMaxLength));
  }
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool inner = i > 0 && (c == '.' || c == '_' || c == '-');
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && !inner) {
      return absl::InvalidArgumentError(
          absl::StrCat("map name has the character \"", absl::string_view(&c, 1), "\" at place ", i,
                       "; allowed are letters, digits and, after the first, . _ -"));
    }
  }
  return absl::OkStatus();
}

}  // namespace voxloc
