// SPDX-License-Identifier: Apache-2.0

#include "server/http/gzip.h"

#include <zlib.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace voxloc::server {
namespace {

// The largest window of deflate, and zlib's flag for gzip's header (zlib.h, deflateInit2).
constexpr int kWindowBits = 15 + 16;
// zlib's default.
constexpr int kMemoryLevel = 8;

}  // namespace

std::optional<std::string> Gzip(absl::string_view text) {
  z_stream stream{};
  // The fastest level: what is compressed goes to a neighbour.
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string compressed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  const int done = deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  if (done != Z_STREAM_END) return std::nullopt;
  return compressed;
}

bool AcceptsGzip(absl::string_view accept_encoding) {
  bool any = false;
  for (const absl::string_view offer : absl::StrSplit(accept_encoding, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(offer, absl::MaxSplits(';', 1));
    absl::string_view weight = absl::StripAsciiWhitespace(parts.second);
    double quality = 1.0;
    if (absl::ConsumePrefix(&weight, "q=") && !absl::SimpleAtod(weight, &quality)) quality = 0.0;
    const absl::string_view coding = absl::StripAsciiWhitespace(parts.first);
    if (absl::EqualsIgnoreCase(coding, "gzip")) return quality > 0.0;
    if (coding == "*") any = quality > 0.0;
  }
  return any;
}

}  // namespace voxloc::server
