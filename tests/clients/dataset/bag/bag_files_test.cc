// SPDX-License-Identifier: Apache-2.0
//
// Recordings that other programs wrote, whole and cut off anywhere.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "absl/strings/match.h"
#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/byte_reader.h"
#include "clients/dataset/bag/drive.h"
#include "clients/dataset/bag/messages.h"
#include "tests/clients/dataset/bag/bag_fixtures.h"
#include "tests/clients/dataset/bag/mcap_writer.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::bag {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void WriteText(const std::string& path, absl::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

class BagFilesTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return FixturePath(GetParam()); }
  bool IsRos1() const { return path().find("ros1") != std::string::npos; }
  bool IsSqlite() const { return path().find(".db3") != std::string::npos; }
};

TEST_P(BagFilesTest, ListsTopicsTypesAndCounts) {
  const auto bag = OpenBag({path()});
  ASSERT_TRUE(bag.ok()) << bag.status();
  std::map<std::string, std::pair<std::string, uint64_t>> topics;
  for (const Topic& topic : (*bag)->contents().topics) {
    topics[topic.name] = {topic.Type(), topic.messages};
  }
  const std::map<std::string, std::pair<std::string, uint64_t>> expected = {
      {"/chatter", {"std_msgs/msg/String", 1}},        {"/odom", {"nav_msgs/msg/Odometry", 5}},
      {"/points", {"sensor_msgs/msg/PointCloud2", 3}}, {"/tf", {"tf2_msgs/msg/TFMessage", 5}},
      {"/tf_static", {"tf2_msgs/msg/TFMessage", 1}},
  };
  EXPECT_EQ(topics, expected);
  EXPECT_THAT((*bag)->contents().remarks, ElementsAre());
  EXPECT_EQ((*bag)->contents().first_ns, kBagStart_ns);
  EXPECT_EQ((*bag)->contents().last_ns, kBagStart_ns + 400'000'000);
}

TEST_P(BagFilesTest, GivesMessagesInTheOrderOfTime) {
  const auto bag = OpenBag({path()});
  ASSERT_TRUE(bag.ok()) << bag.status();
  absl::Status status;
  const std::vector<ReadMessage> messages = ReadAll(**bag, &status);
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_EQ(messages.size(), 15u);
  for (size_t i = 1; i < messages.size(); ++i) {
    EXPECT_LE(messages[i - 1].recorded_ns, messages[i].recorded_ns) << i;
  }
}

TEST_P(BagFilesTest, GivesOnlyTheTopicsAskedFor) {
  const auto bag = OpenBag({path()});
  ASSERT_TRUE(bag.ok()) << bag.status();
  absl::Status status;
  const std::vector<ReadMessage> messages = ReadAll(**bag, &status, "/points");
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_EQ(messages.size(), 3u);
  for (size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(messages[i].topic, "/points");
    EXPECT_EQ(messages[i].recorded_ns,
              kBagStart_ns + 60'000'000 + static_cast<int64_t>(i) * 150'000'000);
  }
}

TEST_P(BagFilesTest, DriveHasScansWithTheirPosesAndTheMount) {
  DriveOptions options;
  options.paths = {path()};
  const auto drive = Drive::Open(options);
  ASSERT_TRUE(drive.ok()) << drive.status();
  ASSERT_TRUE((*drive)->base_T_sensor().has_value());
  EXPECT_EQ((*drive)->base_T_sensor()->translation, Eigen::Vector3d(1.5, 0.0, 2.0));
  const std::vector<DriveScan>& scans = (*drive)->scans();
  ASSERT_EQ(scans.size(), 3u);
  // Odometry has a pose each 0.1 s: the first and the last scan are between two, the second at one.
  const double seconds[] = {0.05, 0.20, 0.35};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(scans[i].stamp_ns, kBagStart_ns + 50'000'000 + static_cast<int64_t>(i) * 150'000'000);
    const Eigen::Vector3d expected(5.0 * seconds[i], -2.5 * seconds[i], 0.0);
    EXPECT_LT((scans[i].map_T_base.translation - expected).norm(), 1e-12) << i;
    const double yaw =
        2.0 * std::atan2(scans[i].map_T_base.rotation.z(), scans[i].map_T_base.rotation.w());
    EXPECT_NEAR(yaw, seconds[i], 1e-12) << i;
  }
  const auto clouds = (*drive)->ReadClouds();
  ASSERT_TRUE(clouds.ok()) << clouds.status();
  for (int i = 0; i < 3; ++i) {
    const auto cloud = (*clouds)->Next();
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    ASSERT_EQ(cloud->size(), 4u);
    for (size_t k = 0; k < 4; ++k) {
      const auto number = static_cast<double>(k);
      EXPECT_EQ(cloud->Point(k), Eigen::Vector3d(10.0 + i + 0.25 * number, -number, 0.5 * number));
    }
  }
}

TEST_P(BagFilesTest, PosesOfTfAreThoseOfOdometry) {
  DriveOptions options;
  options.paths = {path()};
  const auto odometry = Drive::Open(options);
  ASSERT_TRUE(odometry.ok()) << odometry.status();
  options.poses_topic = "/tf";
  // The only transform that moves.
  const auto tf = Drive::Open(options);
  ASSERT_TRUE(tf.ok()) << tf.status();
  ASSERT_EQ((*tf)->scans().size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const Pose& expected = (*odometry)->scans()[i].map_T_base;
    EXPECT_LT(TranslationDistance((*tf)->scans()[i].map_T_base, expected), 1e-12);
    EXPECT_LT(RotationDistance((*tf)->scans()[i].map_T_base, expected), 1e-7);
  }
}

// Where to cut a recording: at each boundary of what the format is made of (in ROS 1 the header and
// the data of a record, in MCAP a record, in SQLite a page), a byte before and a byte after that,
// after the length with which it begins, and at some places in between.
std::set<size_t> PlacesToCut(absl::string_view bytes) {
  const bool ros1 = absl::StartsWith(bytes, "#ROSBAG");
  const bool mcap = absl::StartsWith(bytes, "\x89MCAP");
  const size_t length_end = ros1 ? 4 : mcap ? 9 : 16;
  std::set<size_t> places = {0, 1, bytes.size() - 1};
  ByteReader reader(bytes);
  reader.Bytes(ros1 ? 13 : mcap ? 8 : 0);  // what all files of the format begin with
  while (reader.ok() && reader.remaining() > 0) {
    const size_t at = reader.position();
    for (const size_t place : {at - std::min<size_t>(at, 1), at, at + 1, at + length_end}) {
      if (place < bytes.size()) places.insert(place);
    }
    if (ros1) {
      reader.Block();
    } else if (mcap) {
      reader.Bytes(1);
      reader.Bytes(reader.Read<uint64_t>());
    } else {
      reader.Bytes(4096);
    }
  }
  std::mt19937_64 random(1);
  std::uniform_int_distribution<size_t> anywhere(0, bytes.size() - 1);
  for (int i = 0; i < 200; ++i) places.insert(anywhere(random));
  return places;
}

// Cut off anywhere, a recording is refused or gives messages that the whole one has.
TEST_P(BagFilesTest, ReadsWhatIsThereOfACutRecording) {
  const auto whole = OpenBag({path()});
  ASSERT_TRUE(whole.ok()) << whole.status();
  absl::Status status;
  std::map<std::pair<int64_t, std::string>, std::string> known;
  for (const ReadMessage& message : ReadAll(**whole, &status)) {
    known[{message.recorded_ns, message.topic}] = message.bytes;
  }
  const std::string bytes = FileText(path());
  const std::set<size_t> places = PlacesToCut(bytes);
  const ScratchDir scratch;
  const std::string cut = scratch.Path("cut");
  WriteText(cut, bytes);
  // A chunk that is cut is not decompressed, so that all compressions of ROS 1 see the same; but
  // bz2 and lz4 take buffers of megabytes for each whole chunk, 40 ms a cut under AddressSanitizer.
  const bool few = path().find("ros1_none") == std::string::npos && IsRos1();
  size_t number = 0;
  size_t cuts = 0;
  size_t some = 0;
  // From the end, since a file is cut in place.
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    if (few && ++number % 16 != 0) continue;
    ++cuts;
    const size_t size = *place;
    ASSERT_EQ(::truncate(cut.c_str(), static_cast<off_t>(size)), 0);
    const auto bag = OpenBag({cut});
    if (!bag.ok()) {
      EXPECT_THAT(std::string(bag.status().message()), HasSubstr("cut")) << "names the file";
      continue;
    }
    const std::vector<ReadMessage> messages = ReadAll(**bag, &status);
    EXPECT_LE(messages.size(), known.size()) << size;
    for (const ReadMessage& message : messages) {
      const auto found = known.find({message.recorded_ns, message.topic});
      ASSERT_NE(found, known.end()) << size;
      EXPECT_EQ(found->second, message.bytes) << size;
    }
    some += !messages.empty() && messages.size() < known.size() ? 1 : 0;
    if (!IsSqlite() && messages.size() < known.size() && status.ok()) {
      EXPECT_FALSE((*bag)->contents().remarks.empty()) << size << ": messages are missing silently";
    }
  }
  // Bags of ROS 1 have many chunks here, MCAP files one.
  if (IsRos1()) {
    EXPECT_GT(some, cuts / 4) << "few cuts left a part of it";
  }
}

INSTANTIATE_TEST_SUITE_P(All, BagFilesTest,
                         ::testing::Values("ros1_none.bag", "ros1_bz2.bag", "ros1_lz4.bag",
                                           "rosbag2.db3", "rosbag2_zstd.db3", "none.mcap",
                                           "zstd.mcap"),
                         [](const auto& name) {
                           std::string text = name.param;
                           for (char& c : text) c = c == '.' ? '_' : c;
                           return text;
                         });

TEST(BagDirectory, FilesOfMetadataAreOneRecording) {
  const ScratchDir scratch;
  WriteText(scratch.Path("a_0.mcap"), FileText(FixturePath("none.mcap")));
  WriteText(scratch.Path("a_1.mcap"), FileText(FixturePath("zstd.mcap")));
  WriteText(scratch.Path("metadata.yaml"),
            "rosbag2_bagfile_information:\n"
            "  version: 5\n"
            "  relative_file_paths:\n"
            "    - a_0.mcap\n"
            "    - a/a_1.mcap\n");
  const auto bag = OpenBag({scratch.Path("")});
  ASSERT_TRUE(bag.ok()) << bag.status();
  EXPECT_EQ((*bag)->contents().messages(), 30u);
  EXPECT_EQ((*bag)->contents().topics.size(), 5u);
  absl::Status status;
  EXPECT_EQ(ReadAll(**bag, &status, "/points").size(), 6u);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(BagDirectory, NamesTheFileThatMetadataHasTooMany) {
  const ScratchDir scratch;
  WriteText(scratch.Path("metadata.yaml"),
            "rosbag2_bagfile_information:\n  relative_file_paths: [gone.mcap]\n");
  const auto bag = OpenBag({scratch.Path("")});
  EXPECT_EQ(bag.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(bag.status().message()), HasSubstr("gone.mcap"));
}

TEST(BagDirectory, FilesWithoutMetadataAreOneRecording) {
  const ScratchDir scratch;
  WriteText(scratch.Path("b.db3"), FileText(FixturePath("rosbag2.db3")));
  WriteText(scratch.Path("note.txt"), "not a bag");
  const auto bag = OpenBag({scratch.Path("")});
  ASSERT_TRUE(bag.ok()) << bag.status();
  EXPECT_EQ((*bag)->contents().messages(), 15u);
}

std::string ZstdFrame(absl::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

TEST(OpenBag, ReadsFilesThatAreCompressedAsAWhole) {
  const ScratchDir scratch;
  for (const char* name : {"rosbag2.db3", "none.mcap", "ros1_none.bag"}) {
    const std::string plain = FileText(FixturePath(name));
    // Two frames in a row are one file, too.
    const std::string parts = ZstdFrame(plain.substr(0, 5000)) + ZstdFrame(plain.substr(5000));
    for (const std::string& bytes : {ZstdFrame(plain), parts, Lz4Frame(plain)}) {
      const std::string path = scratch.Path("whole.zstd");
      WriteText(path, bytes);
      const auto bag = OpenBag({path});
      ASSERT_TRUE(bag.ok()) << bag.status();
      absl::Status status;
      EXPECT_EQ(ReadAll(**bag, &status).size(), 15u) << name;
      EXPECT_TRUE(status.ok()) << status;
      ASSERT_EQ((*bag)->contents().remarks.size(), 1u);
      EXPECT_THAT((*bag)->contents().remarks[0],
                  AllOf(HasSubstr("whole.zstd"), HasSubstr(std::to_string(plain.size()))));
      WriteText(path, bytes.substr(0, bytes.size() / 2));
      EXPECT_THAT(std::string(OpenBag({path}).status().message()), HasSubstr("whole.zstd"));
    }
  }
}

TEST(BagDirectory, MetadataMayNameFilesThatWereDecompressedSince) {
  const std::string plain = FileText(FixturePath("rosbag2.db3"));
  for (const bool keep_compressed : {true, false}) {
    for (const bool decompressed : {true, false}) {
      if (!keep_compressed && !decompressed) continue;
      const ScratchDir scratch;
      if (keep_compressed) WriteText(scratch.Path("a_0.db3.zstd"), ZstdFrame(plain));
      if (decompressed) WriteText(scratch.Path("a_0.db3"), plain);
      for (const char* named : {"a_0.db3.zstd", "a_0.db3", ""}) {
        const std::string metadata = scratch.Path("metadata.yaml");
        if (std::string(named).empty()) {
          std::remove(metadata.c_str());
        } else {
          WriteText(metadata, absl::StrCat("rosbag2_bagfile_information:\n  relative_file_paths: [",
                                           named, "]\n"));
        }
        const auto bag = OpenBag({scratch.Path("")});
        ASSERT_TRUE(bag.ok()) << bag.status();
        EXPECT_EQ((*bag)->contents().messages(), 15u) << named;
      }
    }
  }
}

TEST(OpenBag, RefusesWhatIsNoBagAndSaysWhy) {
  const ScratchDir scratch;
  const auto refusal = [&](absl::string_view bytes) {
    WriteText(scratch.Path("x"), bytes);
    return std::string(OpenBag({scratch.Path("x")}).status().message());
  };
  EXPECT_THAT(refusal("# .PCD v0.7"), HasSubstr("must be a bag"));
  EXPECT_THAT(refusal(""), HasSubstr("must be a bag"));
  EXPECT_THAT(refusal("#ROSBAG V1.2\nabc"), HasSubstr("version 2.0"));
  EXPECT_THAT(refusal(absl::string_view("\x28\xB5\x2F\xFD compressed", 15)),
              AllOf(HasSubstr("/x: it cannot be decompressed"), HasSubstr("zstd -d")));
  EXPECT_THAT(refusal(ZstdFrame("# .PCD v0.7")), AllOf(HasSubstr("/x must be a bag")));
  EXPECT_EQ(OpenBag({scratch.Path("none")}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(OpenBag({scratch.Path("")}).status().message()),
              HasSubstr("there are none"));
}

}  // namespace
}  // namespace voxloc::bag
