// SPDX-License-Identifier: Apache-2.0
//
// Point clouds in files: PCD (ascii, binary, binary_compressed), PLY (ascii, binary of either
// endianness), .bin without a header (float32 records, x y z first: KITTI, nuScenes), LAS 1.2 to
// 1.4 (las.h), .npy (npy.h) and text with a point a line: .xyz, .csv, .txt (text_points.h). LAZ and
// E57 are refused with the command that converts them.
//
// Fields may come in any order and type; x, y and z are taken, and intensity where there is one.
// The VIEWPOINT of a PCD, a pose, moves its points where it is not the identity.
// Text, integers and 8-byte fields keep their precision: where the first finite point lies further
// than 2048 m from zero along an axis, that point, rounded to whole metres, is the cloud's origin;
// nearer, float32 alone is good to 0.1 mm and the origin is zero. Points that are not finite are
// kept; filters drop and count them. Readers hold the cloud in memory, and PCD, PLY and .bin files
// too (for binary_compressed, also the data unpacked); they check what a header promises against
// the bytes that are there before they allocate, and refuse more than `max_points`.
//
// Errors: NotFound (no such file), InvalidArgument (malformed; the message has the file, what is
// wrong, and the byte offset or line), ResourceExhausted (over a limit), Internal or Unavailable
// (the system refused to read or write). Nothing throws. Thread-safe: no shared state.

#ifndef VOXLOC_CORE_CLOUD_IO_CLOUD_FILE_H_
#define VOXLOC_CORE_CLOUD_IO_CLOUD_FILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc {

// Limits, and what a file itself does not specify.
struct CloudReadOptions {
  size_t max_points = 200'000'000;
  size_t max_file_bytes = size_t{8} << 30;
  // Floats per point of a .bin file, 3 to 32. 0: 5 if the name ends in .pcd.bin, otherwise detected
  // from the values, or else 4; an error if none of these fits.
  size_t record_floats = 0;
  // LAS: the caller transforms coordinates by CloudFileInfo::crs; else files that say that they are
  // not metres are refused.
  bool any_unit = false;
  // LAS and text: what x and y are multiplied by, in double, before they become float32; above 0.
  double xy_scale = 1.0;
};

enum class CloudFormat { kPcd, kPly, kKittiBin, kLas, kNpy, kText };

// How the names of clouds end, for messages; in a folder, .txt and .csv are no clouds.
inline constexpr absl::string_view kCloudNames =
    ".pcd, .ply, .bin (KITTI), .las, .npy, .xyz, .csv or .txt";
inline constexpr absl::string_view kFolderCloudNames =
    ".pcd, .ply, .bin (KITTI), .las, .npy or .xyz";

// By the file's name (case-insensitive). InvalidArgument lists what is allowed.
[[nodiscard]] absl::StatusOr<CloudFormat> CloudFormatOf(absl::string_view path);

// Whether a file that is found in a folder, not named, is one of its clouds: .txt and .csv are not,
// since they mostly hold something else. The error of CloudFormatOf: LAZ or E57 without its
// conversion, a LAS file of the same name beside it.
[[nodiscard]] absl::StatusOr<bool> IsCloudOfFolder(const std::string& path);

[[nodiscard]] absl::StatusOr<PointCloud> ReadCloud(const std::string& path,
                                                   const CloudReadOptions& limits = {});

// The same from bytes in memory; `name` stands for the file in messages.
[[nodiscard]] absl::StatusOr<PointCloud> ParseCloud(CloudFormat format, absl::string_view bytes,
                                                    absl::string_view name,
                                                    const CloudReadOptions& limits = {});

enum class PcdEncoding { kAscii, kBinary, kBinaryCompressed };

// One more float32 field of a PCD: its name, without blanks, and a value for each point.
struct PcdExtraField {
  std::string name;
  std::vector<float> values;
};

// Writes a PCD of x y z (and intensity where the cloud has it), then the extra fields, which
// ReadCloud skips. Coordinates are float32, or float64 when the origin is not zero, so that nothing
// is lost. The file appears whole or not at all.
[[nodiscard]] absl::Status WritePcd(const std::string& path, const PointCloud& cloud,
                                    PcdEncoding encoding = PcdEncoding::kBinary,
                                    const std::vector<PcdExtraField>& extra_fields = {});

// Writes a binary PCD of the offsets x y z, float32 bit for bit, with the origin as the translation
// of VIEWPOINT: a point lies at VIEWPOINT plus x y z. Intensity is left out. The file appears whole
// or not at all. ReadCloud gives origin and offsets back, bit for bit.
[[nodiscard]] absl::Status WritePcdOffsets(const std::string& path, const PointCloud& cloud);

// The sizes of records that may be given, float32 a point. Without one, only 4 to 6 are taken.
constexpr size_t kMinRecordFloats = 3;
constexpr size_t kMaxRecordFloats = 32;

enum class RecordReason { kRequested, kName, kSize, kValues };

struct RecordFloats {
  size_t floats = 4;
  RecordReason reason = RecordReason::kSize;
};

// The metadata of a cloud file, without its points.
struct CloudFileInfo {
  CloudFormat format = CloudFormat::kPcd;
  // As the header promises them; 0 for a file without bytes. Of .xyz, .csv and .txt an estimate by
  // the length of their first lines, unless the file has less than 4 KiB.
  uint64_t points = 0;
  // Of a PCD; the identity where there is none.
  Pose viewpoint;
  // Of a LAS file that states it: LasCrs::definition (las_crs.h).
  std::string crs;
  // Of a .bin file; nullopt: another format.
  std::optional<RecordFloats> record;
};

// Reads the file's header only, samples of a .bin file, or the first lines of text. Errors are
// those of ReadCloud, but for errors in the points, which are not detected.
[[nodiscard]] absl::StatusOr<CloudFileInfo> InspectCloud(const std::string& path,
                                                         const CloudReadOptions& options = {});

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_CLOUD_FILE_H_
