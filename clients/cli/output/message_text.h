// SPDX-License-Identifier: Apache-2.0
//
// Messages of the contract as JSON, how people and scripts call what the contract defines, and how
// maps, their frames on the earth, their revisions, events and tiles are shown. Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_MESSAGE_TEXT_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_MESSAGE_TEXT_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_enum_reflection.h>
#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/output/output.h"
#include "voxloc/v1/admin_service.pb.h"
#include "voxloc/v1/map.pb.h"
#include "voxloc/v1/map_service.pb.h"

namespace voxloc::cli {

// Whether it is a wrapper of one optional value, such as google.protobuf.DoubleValue.
[[nodiscard]] bool IsWrapper(const google::protobuf::Descriptor& message);

// The name without the prefix that all names of the enum share: "MORE_THUENTE".
[[nodiscard]] std::string EnumName(const google::protobuf::EnumValueDescriptor& value);

// The same as people type it: "more-thuente".
[[nodiscard]] std::string EnumWord(const google::protobuf::EnumValueDescriptor& value);

// The word of a value; its number where it has no name here, since a newer server has sent it.
template <typename Enum>
[[nodiscard]] std::string EnumWordOf(Enum value) {
  const int number = static_cast<int>(value);
  const auto* known = google::protobuf::GetEnumDescriptor<Enum>()->FindValueByNumber(number);
  return known == nullptr ? std::to_string(number) : EnumWord(*known);
}

// The same, but `otherwise` for a value without a name and for UNSPECIFIED, the first of each enum.
template <typename Enum>
[[nodiscard]] std::string EnumWordOr(Enum value, const std::string& otherwise) {
  const auto* known =
      google::protobuf::GetEnumDescriptor<Enum>()->FindValueByNumber(static_cast<int>(value));
  return known == nullptr || known->index() == 0 ? otherwise : EnumWord(*known);
}

// All values but UNSPECIFIED, the first of each enum, by their words.
template <typename Enum>
[[nodiscard]] std::map<std::string, Enum> EnumWords() {
  std::map<std::string, Enum> words;
  const auto& type = *google::protobuf::GetEnumDescriptor<Enum>();
  for (int v = 1; v < type.value_count(); ++v) {
    words[EnumWord(*type.value(v))] = static_cast<Enum>(type.value(v)->number());
  }
  return words;
}

// Keys are the names of the fields, in the order of the contract, with zeros and empty lists; of a
// oneof the member that is set. Unset messages are null. A v1.Pose is [x, y, z, qx, qy, qz, qw], a
// v1.Vector3 [x, y, z], a wrapper its value, an enum its name without the prefix that all its names
// share, bytes are hexadecimal.
[[nodiscard]] Json MessageJson(const google::protobuf::Message& message);

// The same as YAML in lines, with enums by their words.
[[nodiscard]] std::string MessageYaml(const google::protobuf::Message& message);

// A list of them.
template <typename Messages>
[[nodiscard]] Json MessagesJson(const Messages& messages) {
  return ListJson(messages, &MessageJson);
}

// The profile of this name; of an empty one the default. NotFound names those that there are.
[[nodiscard]] absl::StatusOr<v1::Profile> ProfileNamed(const std::string& name,
                                                       const v1::GetServerInfoResponse& info);

// One line a map; and everything about one.
[[nodiscard]] std::string MapTableText(const std::vector<v1::MapInfo>& maps);
[[nodiscard]] std::string MapDetailText(const v1::MapInfo& map);
[[nodiscard]] Json MapJson(const v1::MapInfo& map);

// "MGRS, grid 54SUE, heights WGS84"
[[nodiscard]] std::string ProjectorText(const v1::MapProjector& projector);

// One line a revision.
[[nodiscard]] std::string RevisionTableText(const std::vector<v1::MapRevision>& revisions);

// "active", "staged, tried by 2 vehicles", ...
[[nodiscard]] std::string RevisionStateText(const v1::MapRevision& revision);

// One line: when, what, which map and revision, and which tiles. `now_ns`: nanoseconds since the
// Unix epoch, for events that have no time of their own.
[[nodiscard]] std::string MapEventText(const v1::WatchMapResponse& event, int64_t now_ns);

// The revision that was in use before the one that is. NotFound: there was none, or the server does
// not keep it any more.
[[nodiscard]] absl::StatusOr<uint64_t> PreviousRevision(
    const std::string& map, const std::vector<v1::MapRevision>& revisions);

// At most `max_tiles` tiles that seem to have changed most, the worst first, among those that scans
// were compared with.
[[nodiscard]] std::vector<v1::TileInfo> WorstTiles(const v1::ListTilesResponse& tiles,
                                                   size_t max_tiles);

// One line a tile.
[[nodiscard]] std::string WorstTilesText(const std::vector<v1::TileInfo>& tiles);

// The columns of a table of tiles that show their fit, and a tile's cells in them: "-" where no
// scan was compared with it.
constexpr char kFitColumns[] = ">change|>seen through|>unexplained|>residual|>scans|last used";
void AppendFitCells(const v1::TileInfo& tile, std::vector<std::string>& cells);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_MESSAGE_TEXT_H_
