// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/decompress.h"
#include "tests/clients/dataset/bag/bag_fixtures.h"
#include "tests/clients/dataset/bag/mcap_writer.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::bag {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string& Definitions() {
  static const std::string* const kText =
      new std::string(absl::StrCat(McapSchemaBytes(1, "std_msgs/msg/String"),
                                   McapChannelBytes(7, 1, "/a"), McapChannelBytes(8, 1, "/b")));
  return *kText;
}

class McapBagTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Bag>> Open(const std::string& data_section) {
    std::ofstream(scratch_.Path("x.mcap"), std::ios::binary) << McapFile(data_section);
    return OpenBag({scratch_.Path("x.mcap")});
  }

  // The messages' bytes in the order in which they come.
  std::vector<std::string> Texts(const Bag& bag, const std::string& topic = "") {
    std::vector<std::string> texts;
    for (const ReadMessage& message : ReadAll(bag, &status_, topic)) texts.push_back(message.bytes);
    return texts;
  }

  ScratchDir scratch_;
  absl::Status status_;
};

TEST_F(McapBagTest, PutsChunksThatOverlapInOrder) {
  const auto bag = Open(absl::StrCat(
      Definitions(),
      McapChunkBytes(
          30, 60, absl::StrCat(McapMessageBytes(7, 60, "f"), McapMessageBytes(7, 30, "c")), true),
      McapChunkBytes(10, 50,
                     absl::StrCat(McapMessageBytes(7, 10, "a"), McapMessageBytes(8, 50, "e"),
                                  McapMessageBytes(7, 20, "b")),
                     true),
      McapChunkBytes(40, 40, McapMessageBytes(8, 40, "d"), false)));
  ASSERT_TRUE(bag.ok()) << bag.status();
  EXPECT_THAT(Texts(**bag), ElementsAre("a", "b", "c", "d", "e", "f"));
  EXPECT_THAT(Texts(**bag, "/b"), ElementsAre("d", "e"));
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(McapBagTest, ReadsMessagesOutsideOfChunks) {
  const auto bag =
      Open(absl::StrCat(Definitions(), McapMessageBytes(7, 5, "x"), McapMessageBytes(8, 3, "y"),
                        McapRecordBytes(0x0C, "metadata"), McapMessageBytes(7, 4, "z")));
  ASSERT_TRUE(bag.ok()) << bag.status();
  EXPECT_THAT(Texts(**bag), ElementsAre("y", "z", "x"));
  EXPECT_EQ((*bag)->contents().topics[0].messages, 2u);
  EXPECT_EQ((*bag)->contents().first_ns, 3);
  EXPECT_EQ((*bag)->contents().last_ns, 5);
}

TEST_F(McapBagTest, ChannelsOfOneTopicAreOneTopic) {
  const auto bag = Open(absl::StrCat(Definitions(), McapChannelBytes(9, 1, "/a"),
                                     McapMessageBytes(7, 1, "x"), McapMessageBytes(9, 2, "y")));
  ASSERT_TRUE(bag.ok()) << bag.status();
  EXPECT_THAT(Texts(**bag, "/a"), ElementsAre("x", "y"));
}

TEST_F(McapBagTest, MessagesThatAreCompressedOneByOneAreDecompressed) {
  const std::string text("\0\1\0\0hello", 9);
  std::string zstd(ZSTD_compressBound(text.size()), '\0');
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), text.data(), text.size(), 3));
  const auto bag =
      Open(absl::StrCat(Definitions(), McapChunkBytes(1, 1, McapMessageBytes(7, 1, zstd), true),
                        McapMessageBytes(7, 2, Lz4Frame(text)), McapMessageBytes(7, 3, text)));
  ASSERT_TRUE(bag.ok()) << bag.status();
  EXPECT_THAT(Texts(**bag), ElementsAre(text, text, text));
  EXPECT_TRUE(status_.ok()) << status_;
  // A damaged one ends the reading, with the topic's name.
  const auto damaged = Open(absl::StrCat(Definitions(), McapMessageBytes(7, 1, text),
                                         McapMessageBytes(8, 2, zstd.substr(0, 9))));
  ASSERT_TRUE(damaged.ok()) << damaged.status();
  EXPECT_THAT(Texts(**damaged), ElementsAre(text));
  EXPECT_THAT(std::string(status_.message()), HasSubstr("a message of /b"));
}

TEST_F(McapBagTest, ReadsUpToAChunkWithAWrongChecksumAndSaysSo) {
  const auto bag =
      Open(absl::StrCat(Definitions(), McapChunkBytes(1, 1, McapMessageBytes(7, 1, "good"), false),
                        McapChunkBytes(2, 2, McapMessageBytes(7, 2, "bad"), false, 12345)));
  ASSERT_TRUE(bag.ok()) << bag.status();
  EXPECT_THAT(Texts(**bag), ElementsAre("good"));
  ASSERT_FALSE((*bag)->contents().remarks.empty());
  EXPECT_THAT((*bag)->contents().remarks[0], HasSubstr("checksum"));
}

// Without an index, and cut off after any byte.
TEST_F(McapBagTest, ReadsTheMessagesBeforeTheCut) {
  const std::string whole = McapFile(absl::StrCat(
      Definitions(), McapMessageBytes(7, 1, "one"),
      McapChunkBytes(
          2, 3, absl::StrCat(McapMessageBytes(7, 2, "two"), McapMessageBytes(8, 3, "three")), true),
      McapMessageBytes(8, 4, "four")));
  const std::vector<std::string> all = {"one", "two", "three", "four"};
  size_t most = 0;
  for (size_t size = 0; size <= whole.size(); ++size) {
    std::ofstream(scratch_.Path("x.mcap"), std::ios::binary) << whole.substr(0, size);
    const auto bag = OpenBag({scratch_.Path("x.mcap")});
    if (!bag.ok()) continue;
    const std::vector<std::string> texts = Texts(**bag);
    ASSERT_LE(texts.size(), all.size());
    EXPECT_EQ(texts, std::vector<std::string>(
                         all.begin(), all.begin() + static_cast<std::ptrdiff_t>(texts.size())));
    EXPECT_GE(texts.size(), most) << "a longer file gave fewer messages";
    most = texts.size();
  }
  EXPECT_EQ(most, 4u);
}

TEST_F(McapBagTest, RefusesSizesThatAreOutOfReason) {
  // A chunk that declares an exabyte, and one of whose bytes fewer come out than it declares.
  for (const uint64_t size : {uint64_t{1} << 60, uint64_t{100}}) {
    const std::string records = McapMessageBytes(7, 1, "x");
    const std::string stored = Lz4Frame(records);
    const auto bag = Open(absl::StrCat(
        Definitions(),
        McapRecordBytes(0x06,
                        absl::StrCat(LittleEndian(uint64_t{1}), LittleEndian(uint64_t{1}),
                                     LittleEndian(size), LittleEndian(uint32_t{0}), McapText("lz4"),
                                     LittleEndian(uint64_t{stored.size()}), stored))));
    EXPECT_FALSE(bag.ok()) << size;
    EXPECT_THAT(std::string(bag.status().message()), HasSubstr("a chunk must have"));
  }
}

TEST_F(McapBagTest, NamesACompressionThatItDoesNotKnow) {
  const auto bag = Open(absl::StrCat(
      Definitions(),
      McapRecordBytes(0x06, absl::StrCat(LittleEndian(uint64_t{1}), LittleEndian(uint64_t{1}),
                                         LittleEndian(uint64_t{1}), LittleEndian(uint32_t{0}),
                                         McapText("brotli"), LittleEndian(uint64_t{0})))));
  EXPECT_THAT(std::string(bag.status().message()), HasSubstr("'brotli'"));
}

}  // namespace
}  // namespace voxloc::bag
