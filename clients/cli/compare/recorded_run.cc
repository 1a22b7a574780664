// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/compare/recorded_run.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/bag/messages.h"
#include "clients/dataset/bag/pose_source.h"
#include "clients/dataset/trajectory_file.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// The status of a scan in /diagnostics: Autoware puts the node's name before it.
constexpr char kScanStatus[] = "scan_matching_status";
constexpr char kScanStampKey[] = "topic_time_stamp";

// 4 million lines of 256 bytes.
constexpr size_t kMaxTableBytes = size_t{1} << 30;

// The scan of that stamp, which is added if there is none.
absl::StatusOr<RecordedScan*> ScanOf(int64_t stamp_ns, RecordedRun* run) {
  if (run->scans.size() >= bag::kMaxPoses && run->scans.count(stamp_ns) == 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a recorded run must have at most ", bag::kMaxPoses, " scans"));
  }
  return &run->scans[stamp_ns];
}

absl::Status AddRecordedPose(const bag::Topic& topic, absl::string_view bytes, RecordedRun* run) {
  VOXLOC_ASSIGN_OR_RETURN(const bag::PoseMessage message, bag::DecodePose(topic, bytes));
  if (run->frame.empty()) run->frame = message.parent;
  if (run->frame != message.parent) {
    return absl::InvalidArgumentError(absl::StrCat("the messages of ", topic.name,
                                                   " must be in one frame (got '", run->frame,
                                                   "' and '", message.parent, "')"));
  }
  const absl::StatusOr<Pose> pose = PoseFromQuaternion(message.translation, message.rotation);
  if (!pose.ok()) return absl::OkStatus();  // a localizer that has not started
  VOXLOC_ASSIGN_OR_RETURN(RecordedScan* const scan, ScanOf(message.stamp_ns, run));
  scan->map_T_base = *pose;
  return absl::OkStatus();
}

absl::Status AddRecordedDiagnostics(const bag::Topic& topic, absl::string_view bytes,
                                    RecordedRun* run) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<bag::DiagnosticMessage> statuses,
                          bag::DecodeDiagnostics(topic, bytes));
  for (const bag::DiagnosticMessage& status : statuses) {
    if (!absl::EndsWith(status.name, kScanStatus)) continue;
    const auto stamp = status.values.find(kScanStampKey);
    int64_t stamp_ns = 0;
    if (stamp == status.values.end() || !absl::SimpleAtoi(stamp->second, &stamp_ns)) continue;
    VOXLOC_ASSIGN_OR_RETURN(RecordedScan* const scan, ScanOf(stamp_ns, run));
    scan->diagnostics_level = status.level;
    scan->diagnostics_message = status.message;
  }
  return absl::OkStatus();
}

// Which column of a table has what; nullopt: it is not there.
struct TableColumns {
  std::optional<size_t> stamp;
  std::array<std::optional<size_t>, kRecordedValues.size()> values;
};

TableColumns ColumnsOf(const std::vector<absl::string_view>& names) {
  TableColumns columns;
  for (size_t i = 0; i < names.size(); ++i) {
    const absl::string_view name = absl::StripAsciiWhitespace(names[i]);
    if (name == "stamp") columns.stamp = i;
    for (size_t k = 0; k < kRecordedValues.size(); ++k) {
      if (name == kRecordedValues[k].key) columns.values[k] = i;
    }
  }
  return columns;
}

absl::Status AddTableLine(const TableColumns& columns, const std::vector<absl::string_view>& cells,
                          RecordedRun* run) {
  const auto cell = [&](size_t column) {
    return column < cells.size() ? absl::StripAsciiWhitespace(cells[column]) : absl::string_view();
  };
  const std::optional<int64_t> stamp_ns = NanosecondsFromSeconds(cell(*columns.stamp));
  if (!stamp_ns.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the stamp must be a number of seconds (got '", cell(*columns.stamp), "')"));
  }
  VOXLOC_ASSIGN_OR_RETURN(RecordedScan* const scan, ScanOf(*stamp_ns, run));
  for (size_t k = 0; k < kRecordedValues.size(); ++k) {
    if (!columns.values[k].has_value() || cell(*columns.values[k]).empty()) continue;
    double value = 0.0;
    if (!ParseDouble(cell(*columns.values[k]), value)) {
      return absl::InvalidArgumentError(absl::StrCat(
          kRecordedValues[k].key, " must be a number (got '", cell(*columns.values[k]), "')"));
    }
    scan->values[k] = value;
    run->has_values = true;
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<RecordedScan> RecordedRun::At(int64_t stamp_ns) const {
  const auto found = scans.find(stamp_ns);
  RecordedScan scan;
  if (found != scans.end()) scan = found->second;
  const bool any_value = std::any_of(scan.values.begin(), scan.values.end(),
                                     [](const auto& value) { return value.has_value(); });
  if (has_values && !any_value && !scan.map_T_base.has_value()) return std::nullopt;
  return scan;
}

absl::Status ReadRecordedTopics(const bag::Bag& bag, const RecordedTopics& topics,
                                RecordedRun* run) {
  std::vector<size_t> wanted;
  for (const std::optional<size_t>& topic : {topics.poses, topics.diagnostics}) {
    if (topic.has_value()) wanted.push_back(*topic);
  }
  for (const std::optional<size_t>& topic : topics.values) {
    if (topic.has_value()) wanted.push_back(*topic);
  }
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<bag::Cursor> cursor, bag.Read(wanted));
  bag::Message message;
  while (true) {
    VOXLOC_ASSIGN_OR_RETURN(const bool more, cursor->Next(&message));
    if (!more) return absl::OkStatus();
    const bag::Topic& topic = bag.contents().topics[message.topic];
    if (message.topic == topics.poses) VOXLOC_TRY(AddRecordedPose(topic, message.bytes, run));
    if (message.topic == topics.diagnostics) {
      VOXLOC_TRY(AddRecordedDiagnostics(topic, message.bytes, run));
    }
    for (size_t k = 0; k < topics.values.size(); ++k) {
      if (message.topic != topics.values[k]) continue;
      VOXLOC_ASSIGN_OR_RETURN(const bag::NumberMessage number,
                              bag::DecodeNumber(topic, message.bytes));
      VOXLOC_ASSIGN_OR_RETURN(RecordedScan* const scan, ScanOf(number.stamp_ns, run));
      scan->values[k] = number.value;
      run->has_values = true;
    }
  }
}

absl::Status ReadRecordedPoses(const std::string& path, RecordedRun* run) {
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<StampedPose> poses,
                          ReadTrajectory(path, TrajectoryFormat::kTum));
  for (const StampedPose& pose : poses) {
    VOXLOC_ASSIGN_OR_RETURN(RecordedScan* const scan, ScanOf(pose.stamp_ns, run));
    scan->map_T_base = pose.pose;
  }
  return absl::OkStatus();
}

absl::Status ReadRecordedValues(const std::string& path, RecordedRun* run) {
  VOXLOC_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFileBytes(path, kMaxTableBytes));
  LineScanner lines(bytes.view());
  absl::string_view line;
  std::optional<TableColumns> columns;
  while (lines.Next(line)) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
    if (columns.has_value()) {
      const absl::Status added = AddTableLine(*columns, cells, run);
      if (!added.ok()) {
        return absl::Status(
            added.code(), absl::StrCat(path, " line ", lines.line_number(), ": ", added.message()));
      }
      continue;
    }
    columns = ColumnsOf(cells);
    if (!columns->stamp.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the first line must name the columns, one of which is stamp (got '",
                       line, "')"));
    }
  }
  return absl::OkStatus();
}

}  // namespace voxloc::cli
