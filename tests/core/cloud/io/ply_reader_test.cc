// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<PointCloud> ParsePly(const std::string& bytes, const CloudReadOptions& limits = {}) {
  return ParseCloud(CloudFormat::kPly, bytes, "a.ply", limits);
}

std::string PlyError(const std::string& bytes) {
  const absl::StatusOr<PointCloud> cloud = ParsePly(bytes);
  EXPECT_EQ(cloud.status().code(), absl::StatusCode::kInvalidArgument) << bytes;
  return std::string(cloud.status().message());
}

constexpr const char* kXyz = "property float x\nproperty float y\nproperty float z\n";

std::string PlyHeaderText(const std::string& format, const std::string& elements) {
  return "ply\nformat " + format + " 1.0\ncomment made by hand\n" + elements + "end_header\n";
}

std::string Vertices(uint64_t count, const std::string& properties = kXyz) {
  return absl::StrCat("element vertex ", count, "\n", properties);
}

TEST(PlyReaderTest, AsciiTextByHand) {
  const auto cloud =
      ParsePly(PlyHeaderText("ascii", Vertices(2) + "element face 1\n"
                                                    "property list uchar int vertex_indices\n") +
               "1 -2 0.5\n4 5 6\n3 0 1 1\n");
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->Point(0), Eigen::Vector3d(1.0, -2.0, 0.5));
  EXPECT_EQ(cloud->Point(1), Eigen::Vector3d(4.0, 5.0, 6.0));
}

TEST(PlyReaderTest, PropertiesOfAnyOrderAndType) {
  const std::string properties =
      "property uchar red\nproperty double z\nproperty short y\nproperty float32 nx\n"
      "property uint8 intensity\nproperty int32 x\n";
  const auto binary =
      ParsePly(PlyHeaderText("binary_little_endian", Vertices(2, properties)) +
               Bytes(uint8_t{1}, 0.25, int16_t{-3}, 9.0F, uint8_t{200}, int32_t{70}) +
               Bytes(uint8_t{2}, 0.75, int16_t{30}, 8.0F, uint8_t{100}, int32_t{-7}));
  const auto ascii = ParsePly(PlyHeaderText("ascii", Vertices(2, properties)) +
                              "1 0.25 -3 9 200 70\n2 0.75 30 8 100 -7\n");
  for (const auto& cloud : {binary, ascii}) {
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    EXPECT_THAT(cloud->x, ElementsAre(70.0F, -7.0F));
    EXPECT_THAT(cloud->y, ElementsAre(-3.0F, 30.0F));
    EXPECT_THAT(cloud->z, ElementsAre(0.25F, 0.75F));
    EXPECT_THAT(cloud->intensity, ElementsAre(200.0F, 100.0F));
  }
}

TEST(PlyReaderTest, EveryTypeNameHasItsSize) {
  const struct {
    const char* name;
    size_t bytes;
  } types[] = {{"char", 1},  {"uchar", 1},  {"short", 2},   {"ushort", 2},
               {"int", 4},   {"uint", 4},   {"float", 4},   {"double", 8},
               {"int8", 1},  {"uint8", 1},  {"int16", 2},   {"uint16", 2},
               {"int32", 4}, {"uint32", 4}, {"float32", 4}, {"float64", 8}};
  for (const auto& type : types) {
    const std::string header =
        PlyHeaderText("binary_little_endian",
                      Vertices(1, absl::StrCat("property ", type.name, " label\n", kXyz)));
    const std::string data = std::string(type.bytes, '\x7f') + Bytes(1.0F, 2.0F, 3.0F);
    const auto cloud = ParsePly(header + data);
    ASSERT_TRUE(cloud.ok()) << type.name << cloud.status();
    EXPECT_EQ(cloud->Point(0), Eigen::Vector3d(1, 2, 3)) << type.name;
    EXPECT_FALSE(ParsePly(header + data.substr(1)).ok()) << type.name;
  }
}

TEST(PlyReaderTest, CloudCompareIntensityIsIntensity) {
  const auto cloud =
      ParsePly(PlyHeaderText("ascii", Vertices(1, absl::StrCat(kXyz,
                                                               "property float "
                                                               "scalar_Intensity\n"))) +
               "1 2 3 0.5\n");
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_THAT(cloud->intensity, ElementsAre(0.5F));
}

TEST(PlyReaderTest, ElementsBeforeTheVerticesAreSkippedAlsoWithLists) {
  const std::string elements =
      "element camera 2\nproperty float fov\nproperty uchar id\n"
      "element face 2\nproperty uchar flag\nproperty list uchar short corners\n" +
      Vertices(1);
  const auto binary = ParsePly(PlyHeaderText("binary_little_endian", elements) +
                               Bytes(1.0F, uint8_t{1}, 2.0F, uint8_t{2}) +
                               Bytes(uint8_t{9}, uint8_t{3}, int16_t{0}, int16_t{1}, int16_t{2}) +
                               Bytes(uint8_t{9}, uint8_t{0}) + Bytes(4.0F, 5.0F, 6.0F));
  const auto ascii =
      ParsePly(PlyHeaderText("ascii", elements) + "1 1\n2 2\n9 3 0 1 2\n9 0\n4 5 6\n");
  for (const auto& cloud : {binary, ascii}) {
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    EXPECT_EQ(cloud->Point(0), Eigen::Vector3d(4, 5, 6));
  }
}

TEST(PlyReaderTest, BrokenListsBeforeTheVerticesAreErrors) {
  const auto header = [](const char* length_type, uint64_t count) {
    return PlyHeaderText("binary_little_endian",
                         absl::StrCat("element face ", count, "\nproperty list ", length_type,
                                      " double corners\n", Vertices(1)));
  };
  EXPECT_THAT(PlyError(header("int", 1) + Bytes(int32_t{-1}, 1.0F, 2.0F, 3.0F)),
              AllOf(HasSubstr("at least 0"), HasSubstr("(got -1)")));
  EXPECT_THAT(PlyError(header("uint", 1) + Bytes(uint32_t{4294967295U}, 1.0F, 2.0F, 3.0F)),
              HasSubstr("ends inside element 'face' 0"));
  EXPECT_THAT(PlyError(header("uchar", 1'000'000'000'000'000'000) + std::string(100, '\0')),
              HasSubstr("ends inside element 'face' 100"));
}

// The bytes of the values, each in its own type, the most significant first.
template <typename... T>
std::string BigEndian(T... values) {
  std::string out;
  const auto append = [&out](auto value) {
    std::string bytes = Bytes(value);
    out.append(bytes.rbegin(), bytes.rend());
  };
  (append(values), ...);
  return out;
}

TEST(PlyReaderTest, BigEndianBytesByHand) {
  const auto cloud = ParsePly(PlyHeaderText("binary_big_endian", Vertices(1)) +
                              std::string("\x3f\x80\x00\x00\xc0\x00\x00\x00\x3f\x00\x00\x00", 12));
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_EQ(cloud->Point(0), Eigen::Vector3d(1.0, -2.0, 0.5));
}

TEST(PlyReaderTest, BigEndianOfEveryTypeAndWithElementsBefore) {
  const std::string elements =
      "element face 1\nproperty list ushort int corners\n" +
      Vertices(2,
               "property double z\nproperty short y\nproperty uint8 intensity\nproperty int32 x\n");
  const auto cloud = ParsePly(PlyHeaderText("binary_big_endian", elements) +
                              BigEndian(uint16_t{2}, int32_t{1}, int32_t{2}) +
                              BigEndian(4'123'456.25, int16_t{-3}, uint8_t{200}, int32_t{70'000}) +
                              BigEndian(4'123'457.25, int16_t{300}, uint8_t{100}, int32_t{-7}));
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  ASSERT_EQ(cloud->size(), 2u);
  EXPECT_LT((cloud->Point(0) - Eigen::Vector3d(70'000, -3, 4'123'456.25)).norm(), 1e-6);
  EXPECT_LT((cloud->Point(1) - Eigen::Vector3d(-7, 300, 4'123'457.25)).norm(), 1e-2);
  EXPECT_THAT(cloud->intensity, ElementsAre(200.0F, 100.0F));
}

TEST(PlyReaderTest, ListsOfVerticesArePassedOver) {
  const std::string properties =
      "property list uchar int views\nproperty float x\nproperty float y\n"
      "property list ushort double weights\nproperty float z\nproperty uchar intensity\n"
      "property list uchar uchar z\n";
  const std::string vertices = Vertices(2, properties);
  const auto little =
      ParsePly(PlyHeaderText("binary_little_endian", vertices) +
               Bytes(uint8_t{2}, 7, 8, 1.0F, 2.0F, uint16_t{0}, 3.0F, uint8_t{9}, uint8_t{0}) +
               Bytes(uint8_t{0}, 4.0F, 5.0F, uint16_t{1}, 0.5, 6.0F, uint8_t{8}, uint8_t{1}, '\7') +
               "what follows");
  const auto big = ParsePly(
      PlyHeaderText("binary_big_endian", vertices) +
      BigEndian(uint8_t{2}, 7, 8, 1.0F, 2.0F, uint16_t{0}, 3.0F, uint8_t{9}, uint8_t{0}) +
      BigEndian(uint8_t{0}, 4.0F, 5.0F, uint16_t{1}, 0.5, 6.0F, uint8_t{8}, uint8_t{1}, '\7'));
  const auto ascii =
      ParsePly(PlyHeaderText("ascii", vertices) + "2 7 8 1 2 0 3 9 0\n\n0 4 5 1 0.5 6 8 1 7\n");
  for (const auto& cloud : {little, big, ascii}) {
    ASSERT_TRUE(cloud.ok()) << cloud.status();
    EXPECT_THAT(cloud->x, ElementsAre(1.0F, 4.0F));
    EXPECT_THAT(cloud->y, ElementsAre(2.0F, 5.0F));
    EXPECT_THAT(cloud->z, ElementsAre(3.0F, 6.0F));
    EXPECT_THAT(cloud->intensity, ElementsAre(9.0F, 8.0F));
  }
}

TEST(PlyReaderTest, BrokenListsOfVerticesAreErrors) {
  const std::string properties = std::string(kXyz) + "property list int int view\n";
  const std::string binary = PlyHeaderText("binary_little_endian", Vertices(2, properties));
  const std::string point = Bytes(1.0F, 2.0F, 3.0F);
  EXPECT_THAT(PlyError(binary + point + Bytes(int32_t{-1})), HasSubstr("at least 0"));
  EXPECT_THAT(PlyError(binary + point + Bytes(int32_t{9}, int32_t{1})),
              HasSubstr("ends inside element 'vertex' 0"));
  EXPECT_THAT(PlyError(binary + point + Bytes(int32_t{0}) + point),
              HasSubstr("ends inside element 'vertex' 1"));
  const std::string ascii = PlyHeaderText("ascii", Vertices(2, properties));
  EXPECT_THAT(PlyError(ascii + "1 2 3 1 7\n1 2 3 2 7\n"),
              AllOf(HasSubstr("line 11"), HasSubstr("a list of 2 has 1 values")));
  EXPECT_THAT(PlyError(ascii + "1 2 3 -1\n"), HasSubstr("must be a whole number (got '-1')"));
  EXPECT_THAT(PlyError(ascii + "1 2 3 0 9\n1 2 3 0\n"),
              AllOf(HasSubstr("line 10"), HasSubstr("more than")));
  EXPECT_THAT(PlyError(ascii + "1 2 3 0\n"), HasSubstr("promises 2 points"));
  EXPECT_FALSE(
      ParsePly(PlyHeaderText("binary_big_endian", Vertices(uint64_t{1} << 60, properties)) + point)
          .ok());
}

TEST(PlyReaderTest, DoublesKeepTheirPrecisionFarFromZero) {
  const auto cloud = ParsePly(
      PlyHeaderText("binary_little_endian",
                    Vertices(1, "property double x\nproperty double y\nproperty double z\n")) +
      Bytes(4'123'456.789, 712'345.678, 37.25));
  ASSERT_TRUE(cloud.ok()) << cloud.status();
  EXPECT_LT((cloud->Point(0) - Eigen::Vector3d(4'123'456.789, 712'345.678, 37.25)).norm(), 1e-6);
}

TEST(PlyReaderTest, LyingCountsAreRefused) {
  CloudReadOptions limits;
  limits.max_points = std::numeric_limits<size_t>::max();
  for (const char* format : {"ascii", "binary_little_endian"}) {
    for (const uint64_t count :
         {uint64_t{3}, uint64_t{1'000'000'000'000'000'000}, std::numeric_limits<uint64_t>::max()}) {
      const auto vertices = ParsePly(PlyHeaderText(format, Vertices(count)) + "1 2 3\n", limits);
      EXPECT_EQ(vertices.status().code(), absl::StatusCode::kInvalidArgument) << format << count;
      const auto before = ParsePly(
          PlyHeaderText(format,
                        absl::StrCat("element other ", count, "\nproperty int a\n", Vertices(1))) +
              "1\n",
          limits);
      EXPECT_EQ(before.status().code(), absl::StatusCode::kInvalidArgument) << format << count;
    }
  }
  limits.max_points = 2;
  EXPECT_EQ(ParsePly(PlyHeaderText("ascii", Vertices(3)) + "1 2 3\n1 2 3\n1 2 3\n", limits)
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(PlyReaderTest, ErrorsNameTheLineAndWhatIsAllowed) {
  EXPECT_THAT(PlyError("plx\n"), AllOf(HasSubstr("a.ply: line 1"), HasSubstr("'plx'")));
  EXPECT_THAT(PlyError(PlyHeaderText("binary_middle_endian", Vertices(0))),
              AllOf(HasSubstr("line 2"), HasSubstr("binary_middle_endian"),
                    HasSubstr("binary_little_endian or binary_big_endian")));
  EXPECT_THAT(PlyError("ply\nformat ascii 2.0\nend_header\n"), HasSubstr("'2.0'"));
  EXPECT_THAT(PlyError("ply\nend_header\n"), HasSubstr("no format line"));
  EXPECT_THAT(PlyError("ply\nformat ascii 1.0\nformat ascii 1.0\n"), HasSubstr("given twice"));
  EXPECT_THAT(PlyError("ply\nformat ascii 1.0\n"), HasSubstr("no end_header"));
  EXPECT_THAT(PlyError(PlyHeaderText("ascii", "")), HasSubstr("no element 'vertex'"));
  EXPECT_THAT(PlyError(PlyHeaderText("ascii", "element vertex -1\n")),
              AllOf(HasSubstr("line 4"), HasSubstr("'-1'")));
  EXPECT_THAT(PlyError(PlyHeaderText("ascii", "property float x\n")),
              HasSubstr("before the first"));
  EXPECT_THAT(PlyError(PlyHeaderText("ascii", Vertices(1, "property half x\n"))),
              AllOf(HasSubstr("line 5"), HasSubstr("'half'"), HasSubstr("float64")));
  EXPECT_THAT(PlyError(PlyHeaderText("ascii", Vertices(1, "property float\n"))),
              HasSubstr("no name"));
  EXPECT_THAT(PlyError(PlyHeaderText("ascii", Vertices(1, "property list float int x\n"))),
              HasSubstr("floating point"));
  EXPECT_THAT(PlyError(PlyHeaderText("ascii", Vertices(1, "property list uchar int x\n"))),
              HasSubstr("no field 'x'"));
  EXPECT_THAT(PlyError(PlyHeaderText("ascii", Vertices(1, "property float x\nproperty float y\n"))),
              HasSubstr("no field 'z'"));
  EXPECT_THAT(PlyError(PlyHeaderText("ascii", "elephant 3\n")), HasSubstr("'elephant'"));
  EXPECT_THAT(PlyError(PlyHeaderText("ascii", Vertices(1)) + "1 2 z    \n"),
              AllOf(HasSubstr("line 9"), HasSubstr("'z'")));
}

}  // namespace
}  // namespace voxloc
