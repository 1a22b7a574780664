// SPDX-License-Identifier: Apache-2.0

#include "core/checksum/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace voxloc {
namespace {

// The examples of FIPS 180-4's companion (NIST, "Descriptions of SHA-256") and of its validation
// suite's long message.
TEST(Sha256Test, AgreesWithPublishedVectors) {
  EXPECT_EQ(ToHex(Sha256Of("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(Sha256Of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ToHex(Sha256Of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(ToHex(Sha256Of(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, PiecesHaveTheDigestOfTheWhole) {
  const std::string text = "the quick brown fox jumps over the lazy dog, and over the fence too";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 hash;
    hash.Update(text.substr(0, cut));
    Sha256 moved(std::move(hash));
    moved.Update(text.substr(cut));
    EXPECT_EQ(moved.Finish(), Sha256Of(text)) << cut;
  }
}

TEST(Sha256Test, IsWrittenAndReadAsHexAndAsBytes) {
  const Sha256Digest digest = Sha256Of("abc");
  EXPECT_EQ(Sha256FromHex(ToHex(digest)).value(), digest);
  EXPECT_EQ(Sha256FromBytes(ToBytes(digest)).value(), digest);
  EXPECT_EQ(ToBytes(digest).size(), 32U);

  std::string hex = ToHex(digest);
  EXPECT_EQ(Sha256FromHex(hex.substr(1)).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Sha256FromHex(hex + "0").status().code(), absl::StatusCode::kInvalidArgument);
  hex[5] = 'A';
  EXPECT_EQ(Sha256FromHex(hex).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Sha256FromBytes("abc").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace voxloc
