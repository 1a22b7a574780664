// SPDX-License-Identifier: Apache-2.0

#include "server/observe/trace/trace_context.h"

#include <cstddef>
#include <cstring>
#include <random>

#include "absl/strings/escaping.h"

namespace voxloc::server {
namespace {

// Version, trace id, span id and flags with the '-' between them.
constexpr size_t kTraceIdAt = 3;
constexpr size_t kSpanIdAt = 36;
constexpr size_t kFlagsAt = 53;
constexpr size_t kLength = 55;
constexpr uint8_t kForbiddenVersion = 0xff;
constexpr uint8_t kSampled = 0x01;

// -1: not a lower-case hexadecimal digit.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool ParseByte(absl::string_view digits, uint8_t& byte) {
  const int high = DigitOf(digits[0]);
  const int low = DigitOf(digits[1]);
  if (high < 0 || low < 0) return false;
  byte = static_cast<uint8_t>(16 * high + low);
  return true;
}

template <size_t kBytes>
bool ParseId(absl::string_view digits, std::array<uint8_t, kBytes>& id) {
  for (size_t i = 0; i < kBytes; ++i) {
    if (!ParseByte(digits.substr(2 * i, 2), id[i])) return false;
  }
  return id != std::array<uint8_t, kBytes>{};
}

template <typename Id>
std::string Hex(const Id& id) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(id.data()), id.size()));
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(absl::string_view traceparent) {
  if (traceparent.size() < kLength) return std::nullopt;
  uint8_t version = 0;
  if (!ParseByte(traceparent, version) || version == kForbiddenVersion) return std::nullopt;
  if (traceparent.size() > kLength && (version == 0 || traceparent[kLength] != '-')) {
    return std::nullopt;
  }
  for (const size_t place : {kTraceIdAt, kSpanIdAt, kFlagsAt}) {
    if (traceparent[place - 1] != '-') return std::nullopt;
  }
  TraceContext context;
  uint8_t flags = 0;
  if (!ParseId(traceparent.substr(kTraceIdAt), context.trace_id) ||
      !ParseId(traceparent.substr(kSpanIdAt), context.span_id) ||
      !ParseByte(traceparent.substr(kFlagsAt), flags)) {
    return std::nullopt;
  }
  context.sampled = (flags & kSampled) != 0;
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
