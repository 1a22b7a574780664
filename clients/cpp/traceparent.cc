// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/traceparent.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "absl/strings/ascii.h"

namespace voxloc::client {
namespace {

constexpr size_t kLength = 55;  // of version 00
// Limit for later versions, which may append fields. gRPC's limit for all metadata is 8 kB.
constexpr size_t kMaxLength = 512;

bool IsHex(absl::string_view digits) {
  return std::all_of(digits.begin(), digits.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
  });
}

bool IsId(absl::string_view digits) {
  return IsHex(digits) && digits.find_first_not_of('0') != absl::string_view::npos;
}

}  // namespace

bool IsTraceparent(absl::string_view text) {
  if (text.size() < kLength || text.size() > kMaxLength) return false;
  const absl::string_view version = text.substr(0, 2);
  if (!IsHex(version) || version == "ff") return false;
  const absl::string_view more = text.substr(kLength);
  if (!more.empty() && (version == "00" || more.front() != '-')) return false;
  return text[2] == '-' && IsId(text.substr(3, 32)) && text[35] == '-' &&
         IsId(text.substr(36, 16)) && text[52] == '-' && IsHex(text.substr(53, 2)) &&
         std::all_of(more.begin(), more.end(),
                     [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); });
}

std::string TraceparentOfEnvironment() {
  const char* const value = std::getenv("TRACEPARENT");
  return value != nullptr && IsTraceparent(value) ? value : "";
}

}  // namespace voxloc::client
