// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/bag.h"

#include "absl/strings/str_cat.h"

namespace voxloc::bag {

std::string Topic::Type() const {
  const size_t slash = type.find('/');
  if (slash == std::string::npos || type.find('/', slash + 1) != std::string::npos) return type;
  return absl::StrCat(type.substr(0, slash), "/msg", type.substr(slash));
}

absl::StatusOr<bool> Cursor::Next(Message* message) {
  if (done_) return false;
  absl::StatusOr<bool> more = Fetch(message);
  done_ = !more.ok() || !*more;
  return more;
}

uint64_t BagContents::messages() const {
  uint64_t sum = 0;
  for (const Topic& topic : topics) sum += topic.messages;
  return sum;
}

}  // namespace voxloc::bag
