// SPDX-License-Identifier: Apache-2.0
//
// LAS files byte by byte, in the order of the tables of the ASPRS's specification 1.4 - R15.

#ifndef VOXLOC_TESTS_CORE_CLOUD_IO_LAS_BYTES_H_
#define VOXLOC_TESTS_CORE_CLOUD_IO_LAS_BYTES_H_

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/core/cloud/io/cloud_bytes.h"

namespace voxloc {

// A variable length record.
inline std::string LasVlr(std::string user, uint16_t id, const std::string& content) {
  user.resize(16, '\0');
  return Bytes(uint16_t{0}) + user + Bytes(id, static_cast<uint16_t>(content.size())) +
         std::string(32, 'd') + content;
}

// An extended one.
inline std::string LasExtendedVlr(std::string user, uint16_t id, const std::string& content) {
  user.resize(16, '\0');
  return Bytes(uint16_t{0}) + user + Bytes(id, static_cast<uint64_t>(content.size())) +
         std::string(32, 'd') + content;
}

struct GeoKey {
  uint16_t key;
  uint16_t place;  // of the value; 0: here
  uint16_t value;
};

// A directory of GeoTIFF keys.
inline std::string GeoKeys(const std::vector<GeoKey>& keys) {
  const uint16_t one = 1;
  std::string content = Bytes(one, one, uint16_t{0}, static_cast<uint16_t>(keys.size()));
  for (const GeoKey& key : keys) content += Bytes(key.key, key.place, one, key.value);
  return content;
}
inline std::string GeoKeysVlr(const std::vector<GeoKey>& keys) {
  return LasVlr("LASF_Projection", 34735, GeoKeys(keys));
}

struct LasPoint {
  int32_t x = 0;
  int32_t y = 0;
  int32_t z = 0;
  uint16_t intensity = 0;
  bool withheld = false;
};

// What a header says, which a test may make wrong.
struct LasFile {
  std::string signature = "LASF";
  uint8_t major = 1;
  uint8_t minor = 2;
  uint8_t format = 0;
  Eigen::Vector3d scale = {0.01, 0.01, 0.01};
  Eigen::Vector3d offset = {0.0, 0.0, 0.0};
  // Variable length records, between header and points.
  std::string vlrs;
  uint32_t vlr_count = 0;
  // Extended ones, which only the header of 1.4 mentions, behind the points.
  std::string extended;
  uint32_t extended_count = 0;
  uint16_t extra_bytes = 0;  // behind each record
  // By which the header differs from what is true.
  int header_size_error = 0;
  int record_bytes_error = 0;
  int64_t data_offset_error = 0;
  int64_t extended_offset_error = 0;
  int64_t points_error = 0;
  int64_t legacy_points_error = 0;
  std::vector<LasPoint> points;

  // Point Data Record Formats 0 to 10.
  std::string Record(const LasPoint& p) const {
    std::string bytes = Bytes(p.x, p.y, p.z, p.intensity);
    // The bits beside the flag are set, so that no other bit counts.
    const auto classification = static_cast<uint8_t>(p.withheld ? 0xFF : 0x7F);
    const auto flags = static_cast<uint8_t>(p.withheld ? 0xFF : 0xFB);
    const std::string gps_time = Bytes(123.5);
    const std::string colour = Bytes(uint16_t{1}, uint16_t{2}, uint16_t{3});
    const std::string wave = Bytes(uint8_t{1}, uint64_t{2}, uint32_t{3}, 4.0F, 5.0F, 6.0F, 7.0F);
    const std::string near_infrared = Bytes(uint16_t{9});
    if (format < 6) {
      bytes += Bytes(uint8_t{0x09}, classification, int8_t{-5}, uint8_t{0xFF}, uint16_t{7});
      if (format == 1 || format >= 3) bytes += gps_time;
      if (format == 2 || format == 3 || format == 5) bytes += colour;
      if (format >= 4) bytes += wave;
    } else {
      bytes += Bytes(uint8_t{0x11}, flags, uint8_t{0xFF}, uint8_t{0xFF}, int16_t{-5}, uint16_t{7});
      bytes += gps_time;
      if (format == 7 || format == 8 || format == 10) bytes += colour;
      if (format == 8 || format == 10) bytes += near_infrared;
      if (format >= 9) bytes += wave;
    }
    return bytes + std::string(extra_bytes, '\xEE');
  }

  std::string ToBytes() const {
    std::string records;
    for (const LasPoint& point : points) records += Record(point);
    const auto header_size = static_cast<uint16_t>(minor == 4 ? 375 : minor == 3 ? 235 : 227);
    const auto record_bytes = static_cast<uint16_t>(Record({}).size());
    const uint32_t count = static_cast<uint32_t>(points.size());
    const uint32_t legacy = minor == 4 && format >= 6 ? 0 : count;
    std::string bytes = signature + Bytes(uint16_t{1}, uint16_t{0}) + std::string(16, '\7');
    bytes += Bytes(major, minor) + std::string(32, 'S') + std::string(32, 'G');
    bytes += Bytes(uint16_t{200}, uint16_t{2026});
    bytes += Bytes(
        static_cast<uint16_t>(header_size + header_size_error),
        static_cast<uint32_t>(header_size + static_cast<int64_t>(vlrs.size()) + data_offset_error),
        vlr_count, format, static_cast<uint16_t>(record_bytes + record_bytes_error),
        static_cast<uint32_t>(legacy + (minor < 4 ? points_error : 0) + legacy_points_error));
    bytes += Bytes(legacy, 0, 0, 0, 0);
    bytes += Bytes(scale.x(), scale.y(), scale.z(), offset.x(), offset.y(), offset.z());
    bytes += Bytes(1.0, -1.0, 1.0, -1.0, 1.0, -1.0);
    if (minor >= 3) bytes += Bytes(uint64_t{0});
    if (minor >= 4) {
      const auto extended_offset = static_cast<int64_t>(header_size + vlrs.size() + records.size());
      bytes += Bytes(
          static_cast<uint64_t>(extended.empty() ? 0 : extended_offset + extended_offset_error),
          extended_count, static_cast<uint64_t>(count + points_error));
      bytes += std::string(15 * 8, '\0');
    }
    return bytes + vlrs + records + extended;
  }
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CORE_CLOUD_IO_LAS_BYTES_H_
