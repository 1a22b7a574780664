// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output/message_text.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "core/geometry/euler.h"
#include "voxloc/v1/geometry.pb.h"

namespace voxloc::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The element at `index` of a repeated field, or the value of a singular one.
constexpr int kSingular = -1;

Json ValueJson(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& of = *message.GetReflection();
  const bool one = index == kSingular;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return one ? of.GetBool(message, &field) : of.GetRepeatedBool(message, &field, index);
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? of.GetInt32(message, &field) : of.GetRepeatedInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_INT64:
      return one ? of.GetInt64(message, &field) : of.GetRepeatedInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT32:
      return one ? of.GetUInt32(message, &field) : of.GetRepeatedUInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT64:
      return one ? of.GetUInt64(message, &field) : of.GetRepeatedUInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return one ? of.GetFloat(message, &field) : of.GetRepeatedFloat(message, &field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return one ? of.GetDouble(message, &field) : of.GetRepeatedDouble(message, &field, index);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int number =
          one ? of.GetEnumValue(message, &field) : of.GetRepeatedEnumValue(message, &field, index);
      const auto* value = field.enum_type()->FindValueByNumber(number);
      // A newer server may know more values.
      return value == nullptr ? Json(number) : Json(EnumName(*value));
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text =
          one ? of.GetString(message, &field) : of.GetRepeatedString(message, &field, index);
      return field.type() == FieldDescriptor::TYPE_BYTES ? absl::BytesToHexString(text) : text;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (one && !of.HasField(message, &field)) return nullptr;
      return MessageJson(one ? of.GetMessage(message, &field)
                             : of.GetRepeatedMessage(message, &field, index));
  }
  return nullptr;
}

// Appends the fields, each line after `indent`.
void AppendYaml(const Message& message, const std::string& indent, std::string* text) {
  const Reflection& of = *message.GetReflection();
  for (int f = 0; f < message.GetDescriptor()->field_count(); ++f) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(f);
    absl::StrAppend(text, indent, std::string(field.name()), ":");
    const bool of_messages = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field.is_repeated() && of_messages) {
      absl::StrAppend(text, "\n");
      for (int i = 0; i < of.FieldSize(message, &field); ++i) {
        std::string item;
        AppendYaml(of.GetRepeatedMessage(message, &field, i), indent + "    ", &item);
        item[indent.size() + 2] = '-';
        absl::StrAppend(text, item);
      }
    } else if (of_messages) {
      absl::StrAppend(text, "\n");
      AppendYaml(of.GetMessage(message, &field), indent + "  ", text);
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      absl::StrAppend(text, " ", EnumWord(*of.GetEnum(message, &field)), "\n");
    } else {
      absl::StrAppend(text, " ", ValueJson(message, field, kSingular).dump(), "\n");
    }
  }
}

std::string ExtentText(const v1::MapInfo& map) {
  if (!map.has_bounds()) return "-";
  const v1::Vector3& low = map.bounds().min();
  const v1::Vector3& high = map.bounds().max();
  return absl::StrFormat("%.0f x %.0f x %.0f m", high.x() - low.x(), high.y() - low.y(),
                         high.z() - low.z());
}

// So many of the tiles that an event names are shown; the rest is counted.
constexpr int kTilesShown = 5;

std::string TilesText(const v1::WatchMapResponse& event) {
  if (event.tiles_omitted()) return ", many tiles changed";
  if (event.changed_tiles().empty()) return "";
  const auto first = event.changed_tiles().begin();
  const int shown = std::min(kTilesShown, event.changed_tiles_size());
  const int more = event.changed_tiles_size() - shown;
  return absl::StrCat(", tiles changed: ", absl::StrJoin(first, first + shown, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

}  // namespace

bool IsWrapper(const google::protobuf::Descriptor& message) {
  return message.file()->name() == "google/protobuf/wrappers.proto";
}

std::string EnumName(const google::protobuf::EnumValueDescriptor& value) {
  // The first name of each enum is the prefix with UNSPECIFIED.
  const std::string first(value.type()->value(0)->name());
  const std::string prefix(absl::StripSuffix(first, "UNSPECIFIED"));
  return std::string(absl::StripPrefix(std::string(value.name()), prefix));
}

std::string EnumWord(const google::protobuf::EnumValueDescriptor& value) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(EnumName(value)), {{"_", "-"}});
}

Json MessageJson(const Message& message) {
  const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
  if (descriptor.full_name() == v1::Vector3::descriptor()->full_name()) {
    const auto& vector = static_cast<const v1::Vector3&>(message);
    return Json::array({vector.x(), vector.y(), vector.z()});
  }
  if (descriptor.full_name() == v1::Pose::descriptor()->full_name()) {
    const v1::Vector3& p = static_cast<const v1::Pose&>(message).position();
    const v1::Quaternion& q = static_cast<const v1::Pose&>(message).orientation();
    return Json::array({p.x(), p.y(), p.z(), q.x(), q.y(), q.z(), q.w()});
  }
  if (IsWrapper(descriptor)) return ValueJson(message, *descriptor.field(0), kSingular);
  Json json = Json::object();
  for (int f = 0; f < descriptor.field_count(); ++f) {
    const FieldDescriptor& field = *descriptor.field(f);
    const std::string name(field.name());
    if (field.is_repeated()) {
      Json list = Json::array();
      const int size = message.GetReflection()->FieldSize(message, &field);
      for (int i = 0; i < size; ++i) list.push_back(ValueJson(message, field, i));
      json[name] = std::move(list);
    } else if (field.containing_oneof() == nullptr ||
               message.GetReflection()->HasField(message, &field)) {
      json[name] = ValueJson(message, field, kSingular);
    }
  }
  return json;
}

std::string MessageYaml(const Message& message) {
  std::string text;
  AppendYaml(message, "", &text);
  return text;
}

std::string MapTableText(const std::vector<v1::MapInfo>& maps) {
  TextTable table("map|>revision|>tiles|>points|>extent|>memory|committed");
  for (const v1::MapInfo& map : maps) {
    table.AddRow({map.name(), absl::StrCat(map.revision()), absl::StrCat(map.tiles()),
                  GroupDigits(map.points()), ExtentText(map), ByteText(map.memory_bytes()),
                  TimeText(map.committed_at_ns())});
  }
  return table.Text();
}

std::string MapDetailText(const v1::MapInfo& map) {
  std::string text;
  const auto line = [&text](absl::string_view key, absl::string_view value) {
    absl::StrAppendFormat(&text, "%-10s %s\n", key, value);
  };
  line("map", map.name());
  line("revision", absl::StrCat(map.revision()));
  line("tiles", map.resident_tiles() == map.tiles()
                    ? absl::StrCat(map.tiles())
                    : absl::StrCat(map.tiles(), ", of which ", map.resident_tiles(),
                                   " are in the server's memory"));
  line("points", GroupDigits(map.points()));
  line("extent", ExtentText(map));
  if (map.has_bounds()) {
    const v1::Vector3& low = map.bounds().min();
    const v1::Vector3& high = map.bounds().max();
    line("bounds", absl::StrFormat("%.1f %.1f %.1f to %.1f %.1f %.1f m", low.x(), low.y(), low.z(),
                                   high.x(), high.y(), high.z()));
  }
  line("memory", ByteText(map.memory_bytes()));
  line("profiles", absl::StrJoin(map.options().profiles(), ", "));
  if (map.frame().has_projector()) line("projector", ProjectorText(map.frame().projector()));
  if (map.frame().has_origin()) {
    const v1::GeoPoint& at = map.frame().origin().point();
    line("origin", absl::StrFormat("%.9g, %.9g, %g m; x axis %g deg from east", at.latitude_deg(),
                                   at.longitude_deg(), at.altitude_m(),
                                   map.frame().origin().x_axis_yaw_rad() * kDegreesPerRadian));
  }
  line("committed", TimeText(map.committed_at_ns()));
  line("durable", map.durable() ? "yes" : "no, lost when the server stops");
  if (map.cells().empty()) return text;
  TextTable cells(">cell size|identity seed|>eigenvalue ratio|>least points|>cells");
  for (const v1::MapCells& kind : map.cells()) {
    const v1::CellStatistics& statistics = kind.statistics();
    cells.AddRow({absl::StrFormat("%g m", statistics.cell_size_m()),
                  statistics.identity_seed() ? "yes" : "no",
                  absl::StrFormat("%g", statistics.eigenvalue_ratio()),
                  absl::StrCat(statistics.min_points()), GroupDigits(kind.cells())});
  }
  return absl::StrCat(text, "\n", cells.Text());
}

Json MapJson(const v1::MapInfo& map) {
  Json cells = Json::array();
  for (const v1::MapCells& kind : map.cells()) {
    cells.push_back({{"cell_size_m", kind.statistics().cell_size_m()},
                     {"min_points", kind.statistics().min_points()},
                     {"identity_seed", kind.statistics().identity_seed()},
                     {"eigenvalue_ratio", kind.statistics().eigenvalue_ratio()},
                     {"cells", kind.cells()}});
  }
  return {{"name", map.name()},
          {"revision", map.revision()},
          {"tiles", map.tiles()},
          {"resident_tiles", map.resident_tiles()},
          {"points", map.points()},
          {"bounds", map.has_bounds() ? MessageJson(map.bounds()) : Json(nullptr)},
          {"memory_bytes", map.memory_bytes()},
          {"profiles", map.options().profiles()},
          {"cells", cells},
          {"frame", map.has_frame() ? MessageJson(map.frame()) : Json(nullptr)},
          {"committed_at_ns", map.committed_at_ns()},
          {"durable", map.durable()}};
}

// Nine digits of degrees are finer than a centimetre.
std::string ProjectorText(const v1::MapProjector& projector) {
  std::string text = projector.projector_type();
  if (!projector.mgrs_grid().empty()) absl::StrAppend(&text, ", grid ", projector.mgrs_grid());
  if (projector.has_map_origin()) {
    absl::StrAppendFormat(&text, ", origin %.9g, %.9g, scale %.9g",
                          projector.map_origin().latitude_deg(),
                          projector.map_origin().longitude_deg(), projector.scale_factor());
  }
  if (!projector.vertical_datum().empty()) {
    absl::StrAppend(&text, ", heights ", projector.vertical_datum());
  }
  return text;
}

std::string RevisionStateText(const v1::MapRevision& revision) {
  const std::string state = EnumWordOf(revision.state());
  const int vehicles = revision.canary_vehicles_size();
  if (vehicles == 0) return state;
  return absl::StrCat(state, ", tried by ", vehicles, vehicles == 1 ? " vehicle" : " vehicles");
}

std::string RevisionTableText(const std::vector<v1::MapRevision>& revisions) {
  TextTable table(">revision|>from|state|committed|>tiles|>points|>+|>~|>-|comment");
  for (const v1::MapRevision& revision : revisions) {
    table.AddRow({absl::StrCat(revision.revision()),
                  revision.parent() == 0 ? "-" : absl::StrCat(revision.parent()),
                  RevisionStateText(revision), TimeText(revision.committed_at_ns()),
                  GroupDigits(revision.tiles()), GroupDigits(revision.points()),
                  absl::StrCat(revision.tiles_added()), absl::StrCat(revision.tiles_replaced()),
                  absl::StrCat(revision.tiles_removed()), revision.comment()});
  }
  return table.Text();
}

absl::StatusOr<uint64_t> PreviousRevision(const std::string& map,
                                          const std::vector<v1::MapRevision>& revisions) {
  uint64_t previous = 0;
  for (const v1::MapRevision& revision : revisions) {
    if (revision.state() == v1::REVISION_STATE_ACTIVE) previous = revision.parent();
  }
  if (previous == 0) {
    return absl::NotFoundError(absl::StrCat("map ", map, " had no revision in use before"));
  }
  for (const v1::MapRevision& revision : revisions) {
    if (revision.revision() == previous) return previous;
  }
  return absl::NotFoundError(absl::StrCat("revision ", previous, " of map ", map,
                                          ", which was in use before, is no longer kept"));
}

std::string MapEventText(const v1::WatchMapResponse& event, int64_t now_ns) {
  return absl::StrCat(TimeText(now_ns), "  ", event.map().name(), " ", EnumWordOf(event.kind()),
                      ", revision ", event.map().revision(), TilesText(event), "\n");
}

std::vector<v1::TileInfo> WorstTiles(const v1::ListTilesResponse& tiles, size_t max_tiles) {
  std::vector<v1::TileInfo> worst;
  std::copy_if(tiles.tiles().begin(), tiles.tiles().end(), std::back_inserter(worst),
               [](const v1::TileInfo& tile) { return tile.has_fit(); });
  std::stable_sort(worst.begin(), worst.end(), [](const v1::TileInfo& a, const v1::TileInfo& b) {
    return a.fit().change() > b.fit().change();
  });
  if (worst.size() > max_tiles) worst.resize(max_tiles);
  return worst;
}

void AppendFitCells(const v1::TileInfo& tile, std::vector<std::string>& cells) {
  if (!tile.has_fit()) {
    cells.insert(cells.end(), 6, "-");
    return;
  }
  const v1::TileFit& fit = tile.fit();
  cells.insert(cells.end(),
               {absl::StrFormat("%.2f", fit.change()),
                absl::StrFormat("%.0f %%", 100.0 * fit.seen_through_ratio()),
                absl::StrFormat("%.0f %%", 100.0 * fit.unexplained_ratio()),
                absl::StrFormat("%.3f m", fit.residual_m()), absl::StrFormat("%.1f", fit.scans()),
                TimeText(fit.last_used_at_ns())});
}

std::string WorstTilesText(const std::vector<v1::TileInfo>& tiles) {
  if (tiles.empty()) return "no scan has been compared with the map's tiles\n";
  TextTable table(absl::StrCat("tile|", kFitColumns));
  for (const v1::TileInfo& tile : tiles) {
    std::vector<std::string> cells = {tile.tile_id()};
    AppendFitCells(tile, cells);
    table.AddRow(std::move(cells));
  }
  return table.Text();
}

}  // namespace voxloc::cli
