// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/las_units.h"

#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// A variable length record: reserved (2 bytes), user (16), id (2), bytes after the header (2),
// description (32).
constexpr size_t kVlrUser = 2;
constexpr size_t kVlrId = 18;
constexpr size_t kVlrLength = 20;
constexpr size_t kVlrHeaderBytes = 54;
constexpr absl::string_view kProjectionUser("LASF_Projection\0", 16);
constexpr uint16_t kGeoKeysId = 34735;
constexpr uint16_t kWktId = 2112;

// GeoTIFF keys and values.
constexpr uint16_t kModelTypeKey = 1024;
constexpr uint16_t kGeographicModel = 2;
constexpr uint16_t kLinearUnitsKey = 3076;
constexpr uint16_t kVerticalUnitsKey = 4099;
constexpr uint16_t kMetre = 9001;         // EPSG
constexpr uint16_t kUserDefined = 32767;  // said elsewhere

template <typename... Parts>
absl::Status NotMetres(absl::string_view name, const Parts&... parts) {
  return Malformed(name, "the coordinates must be metres (got ", parts...,
                   "); convert the file: pdal translate ", name,
                   " out.las reprojection --filters.reprojection.out_srs=EPSG:CODE");
}

// A directory of keys of four numbers, the first of which is its header: key, place of its value
// (0: here), count, value.
absl::Status CheckGeoKeys(absl::string_view keys, absl::string_view name) {
  constexpr size_t kKeyBytes = 8;
  for (size_t at = kKeyBytes; at + kKeyBytes <= keys.size(); at += kKeyBytes) {
    const auto key = LoadAt<uint16_t>(keys.data(), at);
    const auto value = LoadAt<uint16_t>(keys.data(), at + 6);
    if (LoadAt<uint16_t>(keys.data(), at + 2) != 0) continue;
    if (key == kModelTypeKey && value == kGeographicModel) {
      return NotMetres(name, "degrees, by GTModelTypeGeoKey ", value);
    }
    const bool unit = key == kLinearUnitsKey || key == kVerticalUnitsKey;
    if (unit && value != kMetre && value != kUserDefined && value != 0) {
      return NotMetres(name, "the unit EPSG:", value, ", by ",
                       key == kLinearUnitsKey ? "ProjLinearUnitsGeoKey" : "VerticalUnitsGeoKey");
    }
  }
  return absl::OkStatus();
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

}  // namespace

absl::Status CheckLasUnits(absl::string_view records, size_t count, absl::string_view name) {
  for (size_t i = 0; i < count && records.size() >= kVlrHeaderBytes; ++i) {
    const absl::string_view user = records.substr(kVlrUser, kProjectionUser.size());
    const auto id = LoadAt<uint16_t>(records.data(), kVlrId);
    const size_t length = LoadAt<uint16_t>(records.data(), kVlrLength);
    records.remove_prefix(kVlrHeaderBytes);
    if (length > records.size()) break;
    const absl::string_view content = records.substr(0, length);
    records.remove_prefix(length);
    if (user != kProjectionUser) continue;
    if (id == kGeoKeysId) VOXLOC_TRY(CheckGeoKeys(content, name));
    if (id == kWktId) VOXLOC_TRY(CheckWkt(content, name));
  }
  return absl::OkStatus();
}

}  // namespace voxloc
