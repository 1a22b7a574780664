// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/mcap_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/dataset/bag/bag.h"
#include "tests/clients/dataset/bag/bag_fixtures.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::bag {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class McapWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto writer = McapWriter::Create(path_, "test");
    ASSERT_TRUE(writer.ok()) << writer.status();
    writer_ = *std::move(writer);
  }

  // The messages of the file, which must be whole.
  std::vector<ReadMessage> Read() {
    const auto bag = OpenBag({path_});
    EXPECT_TRUE(bag.ok()) << bag.status();
    if (!bag.ok()) return {};
    // Of a file that was not closed, or whose summary or index is wrong.
    EXPECT_THAT((*bag)->contents().remarks, IsEmpty());
    absl::Status status;
    std::vector<ReadMessage> messages = ReadAll(**bag, &status);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ((*bag)->contents().messages(), messages.size());
    return messages;
  }

  const ScratchDir scratch_;
  const std::string path_ = scratch_.Path("x.mcap");
  std::unique_ptr<McapWriter> writer_;
};

TEST_F(McapWriterTest, MessagesOfManyChunksAreReadBack) {
  const uint16_t small = writer_->AddChannel("/small", "std_msgs/msg/String", "string data\n");
  uint16_t large = 0;
  for (int i = 0; i < 100; ++i) {
    writer_->Write(small, kBagStart_ns + 2 * i, std::to_string(i));
    if (i == 0) large = writer_->AddChannel("/large", "std_msgs/msg/String", "string data\n");
    writer_->Write(large, kBagStart_ns + 2 * i + 1, std::string(50'000, static_cast<char>(i)));
  }
  ASSERT_TRUE(writer_->Close().ok());
  const std::vector<ReadMessage> messages = Read();
  ASSERT_EQ(messages.size(), 200u);
  for (int i = 0; i < 100; ++i) {
    const ReadMessage& first = messages[2 * static_cast<size_t>(i)];
    const ReadMessage& second = messages[2 * static_cast<size_t>(i) + 1];
    EXPECT_EQ(first.topic, "/small");
    EXPECT_EQ(first.bytes, std::to_string(i));
    EXPECT_EQ(first.recorded_ns, kBagStart_ns + 2 * i);
    EXPECT_EQ(second.topic, "/large");
    EXPECT_EQ(second.bytes, std::string(50'000, static_cast<char>(i)));
  }
}

TEST_F(McapWriterTest, AFileWithoutMessagesIsWhole) {
  ASSERT_TRUE(writer_->Close().ok());
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(McapWriterTest, ATimeBeforeTheEpochCountsAsTheEpoch) {
  writer_->Write(writer_->AddChannel("/a", "std_msgs/msg/String", ""), -5, "x");
  ASSERT_TRUE(writer_->Close().ok());
  const std::vector<ReadMessage> messages = Read();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].recorded_ns, 0);
}

TEST_F(McapWriterTest, WhatWasWrittenBeforeAnInterruptionCanBeRead) {
  const uint16_t channel = writer_->AddChannel("/a", "std_msgs/msg/String", "");
  for (int i = 0; i < 20; ++i) writer_->Write(channel, i, std::string(100'000, 'x'));
  writer_.reset();  // not closed
  const auto bag = OpenBag({path_});
  ASSERT_TRUE(bag.ok()) << bag.status();
  EXPECT_THAT((*bag)->contents().remarks, ::testing::Not(IsEmpty()));
  absl::Status status;
  EXPECT_GT(ReadAll(**bag, &status).size(), 10u);
}

TEST(McapWriter, CloseReportsAFullDisk) {
  auto writer = McapWriter::Create("/dev/full", "test");
  ASSERT_TRUE(writer.ok()) << writer.status();
  (*writer)->Write((*writer)->AddChannel("/a", "std_msgs/msg/String", ""), 0, "x");
  EXPECT_THAT(std::string((*writer)->Close().message()),
              HasSubstr("/dev/full cannot be written: No space left on device"));
}

TEST(McapWriter, AFileThatCannotBeCreatedIsAnError) {
  EXPECT_THAT(std::string(McapWriter::Create("/no/such/x.mcap", "test").status().message()),
              HasSubstr("/no/such/x.mcap cannot be written: No such file"));
}

}  // namespace
}  // namespace voxloc::bag
