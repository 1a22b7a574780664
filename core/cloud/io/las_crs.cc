// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/las_crs.h"

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// A variable length record: reserved (2 bytes), user (16), id (2), bytes after the header (2, of an
// extended one 8), description (32).
constexpr size_t kVlrUser = 2;
constexpr size_t kVlrId = 18;
constexpr size_t kVlrLength = 20;
constexpr size_t kVlrHeaderBytes = 54;
constexpr size_t kExtendedHeaderBytes = 60;
constexpr absl::string_view kProjectionUser("LASF_Projection\0", 16);
constexpr uint16_t kGeoKeysId = 34735;
constexpr uint16_t kWktId = 2112;

// GeoTIFF keys and values.
constexpr uint16_t kModelTypeKey = 1024;
constexpr uint16_t kGeographicModel = 2;
constexpr uint16_t kGeographicKey = 2048;
constexpr uint16_t kProjectedKey = 3072;
constexpr uint16_t kLinearUnitsKey = 3076;
constexpr uint16_t kVerticalKey = 4096;
constexpr uint16_t kVerticalUnitsKey = 4099;
constexpr uint16_t kMetre = 9001;         // EPSG
constexpr uint16_t kUserDefined = 32767;  // said elsewhere
// Heights above an ellipsoid, in GeoTIFF 1.0, which writers of LAS still use.
constexpr uint16_t kFirstEllipsoid = 5001;
constexpr uint16_t kLastEllipsoid = 5033;

template <typename... Parts>
absl::Status NotMetres(absl::string_view name, const Parts&... parts) {
  return Malformed(name, "the coordinates must be metres (got ", parts...,
                   "); load the map with --crs auto, or convert the file: pdal translate ", name,
                   " out.las reprojection --filters.reprojection.out_srs=EPSG:CODE");
}

// A directory of keys of four numbers, the first of which is its header: key, place of its value
// (0: here), count, value.
LasCrs ReadGeoKeys(absl::string_view keys, absl::string_view name) {
  constexpr size_t kKeyBytes = 8;
  LasCrs crs;
  std::map<uint16_t, uint16_t> values;
  for (size_t at = kKeyBytes; at + kKeyBytes <= keys.size(); at += kKeyBytes) {
    const auto key = LoadAt<uint16_t>(keys.data(), at);
    const auto value = LoadAt<uint16_t>(keys.data(), at + 6);
    if (LoadAt<uint16_t>(keys.data(), at + 2) != 0) continue;
    if (value != kUserDefined && value != 0) values.emplace(key, value);
    if (key == kModelTypeKey && value == kGeographicModel) {
      crs.units.Update(NotMetres(name, "degrees, by GTModelTypeGeoKey ", value));
    }
    const bool unit = key == kLinearUnitsKey || key == kVerticalUnitsKey;
    if (unit && value != kMetre && value != kUserDefined && value != 0) {
      crs.units.Update(
          NotMetres(name, "the unit EPSG:", value, ", by ",
                    key == kLinearUnitsKey ? "ProjLinearUnitsGeoKey" : "VerticalUnitsGeoKey"));
    }
  }
  const auto value_of = [&values](uint16_t key) {
    const auto found = values.find(key);
    return found == values.end() ? uint16_t{0} : found->second;
  };
  const uint16_t projected = value_of(kProjectedKey);
  const uint16_t code = projected != 0 ? projected : value_of(kGeographicKey);
  const uint16_t vertical = value_of(kVerticalKey);
  const uint16_t height_unit = value_of(kVerticalUnitsKey);
  const bool ellipsoidal = vertical >= kFirstEllipsoid && vertical <= kLastEllipsoid;
  const bool metres = height_unit == 0 || height_unit == kMetre;
  if (code != 0 && (metres || (vertical != 0 && !ellipsoidal))) {
    crs.definition = absl::StrCat("EPSG:", code);
    if (ellipsoidal) {
      absl::StrAppend(&crs.definition, kEllipsoidalHeights);
    } else if (vertical != 0) {
      absl::StrAppend(&crs.definition, "+", vertical);
    }
  }
  return crs;
}

absl::Status CheckWkt(absl::string_view text, absl::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(text);
  const absl::string_view wkt = upper;
  const auto has = [wkt](absl::string_view word) { return absl::StrContains(wkt, word); };
  if ((has("GEOGCS[") || has("GEOGCRS[") || has("GEODCRS[")) && !has("PROJCS[") &&
      !has("PROJCRS[")) {
    return NotMetres(name, "degrees, by its WKT");
  }
  constexpr absl::string_view kUnit = "UNIT[\"";  // LENGTHUNIT["metre", too
  for (size_t at = wkt.find(kUnit); at != absl::string_view::npos; at = wkt.find(kUnit, at)) {
    at += kUnit.size();
    const absl::string_view unit = wkt.substr(at, wkt.find('"', at) - at);
    if (absl::StrContains(unit, "FOOT") || absl::StrContains(unit, "FEET")) {
      return NotMetres(name, "the unit ", Quoted(text.substr(at, unit.size())), ", by its WKT");
    }
  }
  return absl::OkStatus();
}

bool IsCrsRecord(absl::string_view header) {
  const auto id = LoadAt<uint16_t>(header.data(), kVlrId);
  return header.substr(kVlrUser, kProjectionUser.size()) == kProjectionUser &&
         (id == kGeoKeysId || id == kWktId);
}

// Adds what a record says, by its header and its content, to that of the records before it.
void TakeCrsRecord(absl::string_view header, absl::string_view content, absl::string_view name,
                   LasCrs& crs) {
  if (LoadAt<uint16_t>(header.data(), kVlrId) == kGeoKeysId) {
    const LasCrs keys = ReadGeoKeys(content, name);
    crs.units.Update(keys.units);
    if (crs.definition.empty()) crs.definition = keys.definition;
    return;
  }
  // Where a file has both, its header says that WKT holds.
  const absl::string_view wkt = content.substr(0, content.find('\0'));
  crs.units.Update(CheckWkt(wkt, name));
  if (!wkt.empty()) crs.definition = std::string(wkt);
}

}  // namespace

LasCrs ReadLasCrs(absl::string_view records, size_t count, absl::string_view name) {
  LasCrs crs;
  for (size_t i = 0; i < count && records.size() >= kVlrHeaderBytes; ++i) {
    const absl::string_view header = records.substr(0, kVlrHeaderBytes);
    const size_t length = LoadAt<uint16_t>(header.data(), kVlrLength);
    records.remove_prefix(kVlrHeaderBytes);
    if (length > records.size()) break;
    const absl::string_view content = records.substr(0, length);
    records.remove_prefix(length);
    if (IsCrsRecord(header)) TakeCrsRecord(header, content, name, crs);
  }
  return crs;
}

absl::StatusOr<LasCrs> ReadExtendedLasCrs(const LasExtendedRecords& records, uint64_t file_bytes,
                                          ReadFilePart read, absl::string_view name) {
  LasCrs crs;
  if (records.count > kMaxExtendedRecords) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": must have at most ", kMaxExtendedRecords,
                     " extended variable length records (got ", records.count, ")"));
  }
  uint64_t at = records.offset;
  for (uint64_t i = 0; i < records.count; ++i) {
    const auto check_rest = [&](absl::string_view what, uint64_t bytes) {
      if (at <= file_bytes && bytes <= file_bytes - at) return absl::OkStatus();
      return MalformedByte(name, at, what, " of the extended variable length record ", i + 1,
                           " of ", records.count, " has ", bytes, " bytes, but the file has ",
                           file_bytes);
    };
    VOXLOC_TRY(check_rest("the header", kExtendedHeaderBytes));
    char header_bytes[kExtendedHeaderBytes];
    VOXLOC_TRY(read(at, kExtendedHeaderBytes, header_bytes));
    const absl::string_view header(header_bytes, kExtendedHeaderBytes);
    const auto length = LoadAt<uint64_t>(header_bytes, kVlrLength);
    at += kExtendedHeaderBytes;
    VOXLOC_TRY(check_rest("the content", length));
    if (IsCrsRecord(header)) {
      if (length > kMaxExtendedCrsBytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat(name, ": byte ", at,
                         ": the record of the coordinate reference system must have at "
                         "most ",
                         kMaxExtendedCrsBytes, " bytes (got ", length, ")"));
      }
      std::string content(static_cast<size_t>(length), '\0');
      VOXLOC_TRY(read(at, content.size(), content.data()));
      TakeCrsRecord(header, content, name, crs);
    }
    at += length;
  }
  return crs;
}

}  // namespace voxloc
