// SPDX-License-Identifier: Apache-2.0

#include "server/maps/recent_uploads.h"

#include <iterator>

namespace voxloc::server {

void RecentUploads::Add(absl::string_view map, const Sha256Digest& digest, size_t max) {
  Upload upload(map, digest);
  const absl::MutexLock lock(&mutex_);
  const auto known = index_.find(upload);
  if (known != index_.end()) {
    by_age_.splice(by_age_.end(), by_age_, known->second);
    return;
  }
  by_age_.push_back(upload);
  index_.emplace(std::move(upload), std::prev(by_age_.end()));
  while (by_age_.size() > max) {
    index_.erase(by_age_.front());
    by_age_.pop_front();
  }
}

bool RecentUploads::Has(absl::string_view map, const Sha256Digest& digest) const {
  const absl::MutexLock lock(&mutex_);
  return index_.contains(Upload(map, digest));
}

}  // namespace voxloc::server
