// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/cloud_pieces.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/cloud/io/cloud_bytes.h"
#include "tests/core/cloud/io/las_bytes.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::HasSubstr;

constexpr size_t kPointsOfFiles = 1000;

// Far from zero where `far`, so that doubles get an origin; some points are not finite.
std::vector<Eigen::Vector3d> SomePoints(bool far) {
  const PointCloud cloud = RandomCloud(kPointsOfFiles, 5, false);
  std::vector<Eigen::Vector3d> points;
  for (size_t i = 0; i < cloud.size(); ++i) {
    points.push_back(cloud.Point(i));
    if (far) points.back() += Eigen::Vector3d(4'123'456.5, -712'345.25, 33.0);
    if (i % 100 == 0) points.back().y() = std::numeric_limits<double>::quiet_NaN();
  }
  return points;
}

std::string DoublePcd() {
  std::string file = absl::StrCat(
      "VERSION .7\nFIELDS x rgb y z _ intensity\nSIZE 8 4 8 4 1 2\nTYPE F U F F U U\n"
      "COUNT 1 1 1 1 3 1\nWIDTH ",
      kPointsOfFiles, "\nHEIGHT 1\nPOINTS ", kPointsOfFiles, "\nDATA binary\n");
  uint16_t intensity = 0;
  for (const Eigen::Vector3d& p : SomePoints(true)) {
    file +=
        Bytes(p.x(), uint32_t{7}, p.y(), static_cast<float>(p.z()), '\0', '\0', '\0', intensity++);
  }
  return file;
}

// `before`: an element that comes before the vertices, with its bytes.
std::string Ply(const std::string& before, const std::string& before_bytes) {
  std::string file = absl::StrCat("ply\nformat binary_little_endian 1.0\n", before,
                                  "element vertex ", kPointsOfFiles,
                                  "\nproperty float x\nproperty float y\nproperty uchar red\n"
                                  "property float z\nend_header\n",
                                  before_bytes);
  for (const Eigen::Vector3d& p : SomePoints(false)) {
    file += Bytes(static_cast<float>(p.x()), static_cast<float>(p.y()), '\1',
                  static_cast<float>(p.z()));
  }
  return absl::StrCat(file, "what follows the vertices");
}

std::string Kitti() {
  std::string file;
  for (const Eigen::Vector3d& p : SomePoints(false)) {
    file += Bytes(static_cast<float>(p.x()), static_cast<float>(p.y()), static_cast<float>(p.z()),
                  0.5F);
  }
  return file;
}

// With a withheld point after each that is not.
std::string Las(int format) {
  LasFile file;
  file.minor = 4;
  file.format = static_cast<uint8_t>(format);
  file.offset = {4'123'456.0, -712'345.0, 0.0};
  file.extra_bytes = 3;
  for (int i = 0; i < static_cast<int>(kPointsOfFiles); ++i) {
    file.points.push_back({7 * i, -3 * i, i, static_cast<uint16_t>(i), false});
    file.points.push_back({-i, i, i, 5, true});
  }
  return absl::StrCat(file.ToBytes(), "what follows the points");
}

std::string Npy(bool far) {
  std::string dictionary =
      absl::StrCat("{'descr': '", far ? "<f8" : "<f4", "', 'fortran_order': False, 'shape': (",
                   kPointsOfFiles, ", 3), }\n");
  std::string file =
      "\x93NUMPY\1" + Bytes('\0', static_cast<uint16_t>(dictionary.size())) + dictionary;
  for (const Eigen::Vector3d& p : SomePoints(far)) {
    const Eigen::Vector3f near = p.cast<float>();
    file += far ? Bytes(p.x(), p.y(), p.z()) : Bytes(near.x(), near.y(), near.z());
  }
  return file;
}

std::string Text(const std::string& header, const std::string& separator) {
  std::string file = header;
  for (const Eigen::Vector3d& p : SomePoints(true)) {
    absl::StrAppendFormat(&file, "%.4f%s%.4f%s%.4f\n# so far\n", p.x(), separator, p.y(), separator,
                          p.z());
  }
  return file;
}

struct NamedFile {
  std::string path;
  bool streams;
};

std::vector<NamedFile> AllFormats(const ScratchDir& scratch) {
  std::vector<NamedFile> files = {
      {scratch.Write("double.pcd", DoublePcd()), true},
      {scratch.Write("viewpoint.pcd", "VIEWPOINT 1e6 2 3 0.5 0.5 0.5 -0.5\n" + DoublePcd()), true},
      {scratch.Write("plain.ply", Ply("", "")), true},
      {scratch.Write("camera.ply", Ply("element camera 2\nproperty double f\n", Bytes(1.0, 2.0))),
       true},
      {scratch.Write("list.ply", Ply("element face 1\nproperty list uchar int vertex_index\n",
                                     Bytes('\2', 5, 6))),
       false},
      {scratch.Write("kitti.bin", Kitti()), true},
      {scratch.Write("short.las", Las(3)), true},
      {scratch.Write("long.las", Las(10)), true},
      {scratch.Write("float.npy", Npy(false)), true},
      {scratch.Write("double.npy", Npy(true)), true},
      {scratch.Write("plain.xyz", Text("", " ")), true},
      {scratch.Write("named.csv", Text("x;y;z\n", ";")), true}};
  const PointCloud cloud = RandomCloud(kPointsOfFiles, 6, true);
  for (const auto& [name, encoding, streams] :
       {std::tuple("a.pcd", PcdEncoding::kAscii, false),
        std::tuple("b.pcd", PcdEncoding::kBinary, true),
        std::tuple("c.pcd", PcdEncoding::kBinaryCompressed, false)}) {
    files.push_back({scratch.Path(name), streams});
    EXPECT_TRUE(WritePcd(files.back().path, cloud, encoding).ok());
  }
  return files;
}

TEST(CloudPiecesTest, TogetherAreTheCloudThatReadCloudGives) {
  const ScratchDir scratch;
  for (const NamedFile& file : AllFormats(scratch)) {
    const absl::StatusOr<FileBytes> bytes = ReadFileBytes(file.path, size_t{1} << 30);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const absl::StatusOr<PointCloud> whole =
        ParseCloud(*CloudFormatOf(file.path), bytes->view(), file.path);
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_TRUE(SameBits(*ReadCloud(file.path), *whole)) << file.path;
    ASSERT_EQ(whole->size(), kPointsOfFiles);
    for (const size_t piece_points : {size_t{2}, size_t{7}, size_t{500}, size_t{100'000}}) {
      CloudPieceOptions options;
      options.piece_points = piece_points;
      absl::StatusOr<CloudPieceReader> reader = CloudPieceReader::Open(file.path, options);
      ASSERT_TRUE(reader.ok()) << reader.status();
      EXPECT_EQ(reader->streams(), file.streams) << file.path;
      if (reader->points_known()) {
        const bool las = absl::EndsWith(file.path, ".las");
        EXPECT_EQ(reader->points(), las ? 2 * kPointsOfFiles : kPointsOfFiles) << file.path;
      } else {
        EXPECT_NEAR(static_cast<double>(reader->points()), kPointsOfFiles, 50.0) << file.path;
      }
      PointCloud joined;
      joined.origin = whole->origin;
      size_t pieces = 0;
      while (true) {
        const absl::StatusOr<PointCloud> piece = reader->Next();
        ASSERT_TRUE(piece.ok()) << piece.status();
        if (piece->empty()) break;
        ++pieces;
        ASSERT_EQ(piece->origin, whole->origin) << file.path;
        Append(*piece, joined);
      }
      EXPECT_TRUE(SameBits(joined, *whole)) << file.path << " " << piece_points;
      if (absl::EndsWith(file.path, ".las")) continue;  // pieces of records, withheld ones too
      const size_t expected = file.streams ? (kPointsOfFiles + piece_points - 1) / piece_points : 1;
      EXPECT_EQ(pieces, expected) << file.path;
    }
  }
}

TEST(CloudPiecesTest, MalformedFilesAreRefusedAsReadCloudDoes) {
  const ScratchDir scratch;
  const std::string whole = DoublePcd();
  const std::vector<std::string> paths = {
      scratch.Write("cut.pcd", whole.substr(0, whole.size() - 1)),
      scratch.Write("cut.bin", Kitti().substr(1)),
      scratch.Write("empty.ply", ""),
      scratch.Write("no.ply", "ply\nformat ascii 1.0\nend_header\n"),
      scratch.Write("head.pcd", whole.substr(0, 40)),
      scratch.Write("viewpoint.pcd", "VIEWPOINT 1 2 3\n" + whole),
      scratch.Path("missing.pcd"),
      scratch.Write("x.las", ""),
      scratch.Write("cut.las", Las(0).substr(0, 5000)),
      scratch.Write("cut.npy", Npy(true).substr(1)),
      scratch.Write("word.csv", Text("x;y\n", ";")),
      scratch.Path("missing.xyz"),
      scratch.Path("x.laz"),
      scratch.Path("x.obj")};
  for (const std::string& path : paths) {
    const absl::Status expected = ReadCloud(path).status();
    EXPECT_FALSE(expected.ok()) << path;
    EXPECT_EQ(CloudPieceReader::Open(path).status(), expected) << path;
  }
}

TEST(CloudPiecesTest, TextLongerThanWhatIsReadAtATime) {
  const ScratchDir scratch;
  std::string text = "x,y,z,intensity\n";
  constexpr int kLines = 400'000;  // of about 25 bytes, 10 MB
  for (int i = 0; i < kLines; ++i)
    absl::StrAppend(&text, i, ".25,", -i, ".5,", i % 10, ",", i, "\n");
  const std::string path = scratch.Write("long.csv", text);
  absl::StatusOr<CloudPieceReader> reader = CloudPieceReader::Open(path);
  ASSERT_TRUE(reader.ok()) << reader.status();
  size_t pieces = 0;
  int next = 0;
  for (PointCloud piece = *reader->Next(); !piece.empty(); piece = *reader->Next()) {
    ++pieces;
    for (size_t i = 0; i < piece.size(); ++i, ++next) {
      ASSERT_EQ(piece.x[i], static_cast<float>(next) + 0.25F);
      ASSERT_EQ(piece.intensity[i], static_cast<float>(next));
    }
  }
  EXPECT_EQ(next, kLines);
  EXPECT_GE(pieces, 2u);
  // The line of an error is that of the file.
  const std::string wrong = scratch.Write("wrong.csv", text + "1,2,3\n");
  EXPECT_THAT(std::string(ReadCloud(wrong).status().message()), HasSubstr("line 400002: has 3"));
}

TEST(CloudPiecesTest, AFileThatShrinksIsAnError) {
  const ScratchDir scratch;
  const std::string path = scratch.Write("kitti.bin", Kitti());
  CloudPieceOptions options;
  options.piece_points = 600;
  absl::StatusOr<CloudPieceReader> reader = CloudPieceReader::Open(path, options);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->Next()->size(), 600u);
  std::filesystem::resize_file(path, 700 * 16);
  const absl::Status status = reader->Next().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("shorter"));
}

TEST(PcdOffsetsTest, KeepTheBitsOfOffsetsAndOrigin) {
  const ScratchDir scratch;
  PointCloud cloud = RandomCloud(100, 7, false);
  // None of these would come back from a sum in double.
  cloud.PushBack(-0.0F, 1e-40F, 1e-9F);
  cloud.PushBack(std::numeric_limits<float>::quiet_NaN(), 3e-5F, -1e30F);
  for (const Eigen::Vector3d& origin :
       {Eigen::Vector3d(0, 0, 0), Eigen::Vector3d(4'123'456.1, -712'345.6, 1.0 / 3.0),
        Eigen::Vector3d(-0.0, 1e-7, 20.0)}) {
    cloud.origin = origin;
    const std::string path = scratch.Path("offsets.pcd");
    ASSERT_TRUE(WritePcdOffsets(path, cloud).ok());
    const absl::StatusOr<PointCloud> read = ReadCloud(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(SameBits(*read, cloud));
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(std::signbit(read->origin[axis]), std::signbit(origin[axis]));
    }
  }
}

}  // namespace
}  // namespace voxloc
