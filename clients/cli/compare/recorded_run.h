// SPDX-License-Identifier: Apache-2.0
//
// What another localizer, such as Autoware's ndt_scan_matcher, made of each scan of a drive, out of
// the bag in which it ran or out of files. Functions without state; a run may be read by any number
// of threads.

#ifndef VOXLOC_CLIENTS_CLI_COMPARE_RECORDED_RUN_H_
#define VOXLOC_CLIENTS_CLI_COMPARE_RECORDED_RUN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/dataset/bag/bag.h"
#include "core/geometry/pose.h"

namespace voxloc::cli {

// The numbers that a localizer publishes with each scan that it aligned.
struct RecordedValue {
  const char* key;    // in JSON, and of the column in a table
  const char* title;  // for people
  const char* topic;  // of Autoware's node, in its namespace
  int digits;         // after the point
};
inline constexpr std::array<RecordedValue, 4> kRecordedValues = {{
    {"transform_probability", "transform probability", "transform_probability", 3},
    {"nvtl", "NVTL", "nearest_voxel_transformation_likelihood", 3},
    {"iterations", "iterations", "iteration_num", 1},
    {"time_ms", "time, ms", "exe_time_ms", 2},
}};
using RecordedNumbers = std::array<std::optional<double>, kRecordedValues.size()>;

struct RecordedScan {
  std::optional<Pose> map_T_base;  // as published; nullopt: the result was rejected
  RecordedNumbers values;          // in the order of kRecordedValues
  // Of its scan_matching_status: 0 OK, 1 WARN, 2 ERROR; nullopt: not recorded.
  std::optional<int> diagnostics_level;
  std::string diagnostics_message;
};

struct RecordedRun {
  std::string poses;  // the topic or the file, for people
  std::string frame;  // of the poses; empty: a file does not say
  // By the stamps of the scans; at most bag::kMaxPoses.
  std::map<int64_t, RecordedScan> scans;
  bool has_values = false;  // of some scan

  // nullopt: the localizer did not align the scan of that stamp. It did where it published a pose
  // or one of the values; without any values every scan counts as aligned.
  [[nodiscard]] std::optional<RecordedScan> At(int64_t stamp_ns) const;
};

// What the user names of a bag; empty: found by the names and types of Autoware's topics.
struct RecordedNames {
  std::string points_topic;
  std::string poses_topic;
  std::string guesses_topic;
  std::string node_namespace;  // in which the topics of kRecordedValues are
};

// The topics of a bag, indices into its contents.
struct RecordedTopics {
  size_t points = 0;
  std::optional<size_t> poses;    // nullopt: not wanted
  std::optional<size_t> guesses;  // likewise
  std::array<std::optional<size_t>, kRecordedValues.size()> values;
  std::optional<size_t> diagnostics;
};

// `poses`, `guesses`: whether these are wanted. Topics are compared by the end of their names,
// since a node may be in any namespace. NotFound, InvalidArgument: a topic is missing, or there are
// several; the message lists those that could be meant, and has the flag that names one.
[[nodiscard]] absl::StatusOr<RecordedTopics> ChooseRecordedTopics(const bag::BagContents& contents,
                                                                  const RecordedNames& names,
                                                                  bool poses, bool guesses);

// Adds what the topics say to `run`. InvalidArgument: a message cannot be decoded, or the poses are
// in several frames.
[[nodiscard]] absl::Status ReadRecordedTopics(const bag::Bag& bag, const RecordedTopics& topics,
                                              RecordedRun* run);

// Adds the poses of a file by their stamps, format tum.
[[nodiscard]] absl::Status ReadRecordedPoses(const std::string& path, RecordedRun* run);

// Adds the values of a table: lines of numbers separated by commas, below a line with the names of
// the columns, "stamp" (seconds) and keys of kRecordedValues in any order. Other columns are not
// read; an empty cell is no value. InvalidArgument names the file, the line and what is wrong.
[[nodiscard]] absl::Status ReadRecordedValues(const std::string& path, RecordedRun* run);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_COMPARE_RECORDED_RUN_H_
