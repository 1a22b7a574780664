// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "core/http/http_listener.h"

namespace voxloc {
namespace {

// By zlib's other half, which knows gzip's header and checks its CRC.
std::string Inflated(const std::string& compressed) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string text(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

TEST(GzipTest, IsReadByZlib) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * i % 977) + "\n";
  for (const std::string& plain : {text, std::string(), std::string("x")}) {
    const auto compressed = Gzip(plain);
    ASSERT_TRUE(compressed.has_value());
    EXPECT_EQ(Inflated(*compressed), plain);
  }
  EXPECT_LT(Gzip(text)->size(), text.size() / 2);
}

TEST(GzipTest, IsAcceptedAsTheHeaderSays) {
  for (const char* yes : {"gzip", "GZIP", "deflate, gzip;q=1.0", "br;q=1, gzip; q=0.5", "*"}) {
    EXPECT_TRUE(AcceptsGzip(yes)) << yes;
  }
  for (const char* no : {"", "identity", "gzip;q=0", "*, gzip;q=0.0", "gzipped", "gzip;q=x",
                         "*;q=0", ",,;", "deflate"}) {
    EXPECT_FALSE(AcceptsGzip(no)) << no;
  }
}

}  // namespace
}  // namespace voxloc
