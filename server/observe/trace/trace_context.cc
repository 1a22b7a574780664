// SPDX-License-Identifier: Apache-2.0

#include "server/observe/trace/trace_context.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace voxloc::server {
namespace {

constexpr uint8_t kForbiddenVersion = 0xff;
constexpr uint8_t kSampled = 0x01;

// Exactly as many lower-case hexadecimal digits as the bytes have.
template <size_t kBytes>
bool ParseHex(absl::string_view digits, std::array<uint8_t, kBytes>& bytes) {
  const auto is_digit = [](char c) { return absl::StrContains("0123456789abcdef", c); };
  if (digits.size() != 2 * kBytes || !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return false;
  }
  const std::string parsed = absl::HexStringToBytes(digits);
  std::copy(parsed.begin(), parsed.end(), bytes.begin());
  return true;
}

template <typename Id>
std::string Hex(const Id& id) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(id.data()), id.size()));
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(absl::string_view traceparent) {
  // Version, trace id, span id and flags; then what a version after 00 may add.
  const std::vector<absl::string_view> fields =
      absl::StrSplit(traceparent, absl::MaxSplits('-', 4));
  if (fields.size() < 4) return std::nullopt;
  TraceContext context;
  std::array<uint8_t, 1> version{};
  std::array<uint8_t, 1> flags{};
  if (!ParseHex(fields[0], version) || !ParseHex(fields[1], context.trace_id) ||
      !ParseHex(fields[2], context.span_id) || !ParseHex(fields[3], flags)) {
    return std::nullopt;
  }
  if (version[0] == kForbiddenVersion || (version[0] == 0 && fields.size() > 4)) {
    return std::nullopt;
  }
  if (context.trace_id == TraceId{} || context.span_id == SpanId{}) return std::nullopt;
  context.sampled = (flags[0] & kSampled) != 0;
  return context;
}

std::string TraceIdHex(const TraceId& id) { return Hex(id); }
std::string SpanIdHex(const SpanId& id) { return Hex(id); }

SpanId NewSpanId() {
  thread_local std::mt19937_64 random(std::random_device{}());
  SpanId id{};
  while (id == SpanId{}) {
    const uint64_t bits = random();
    std::memcpy(id.data(), &bits, sizeof(bits));
  }
  return id;
}

}  // namespace voxloc::server
