// SPDX-License-Identifier: Apache-2.0
//
// Bag: a recording of ROS topics, whatever file it is in, without ROS.
//
// rosbag2 with SQLite (.db3), MCAP (.mcap) and ROS 1 bags of version 2.0 (.bag) look the same here:
// topics with types and counts, and messages in the order in which they were recorded. Memory does
// not depend on the size of a file: an index of some 100 bytes a chunk is held, and the chunks that
// are being read.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_BAG_H_
#define VOXLOC_CLIENTS_DATASET_BAG_BAG_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace voxloc::bag {

struct Topic {
  std::string name;      // "/points"
  std::string type;      // as recorded: "sensor_msgs/msg/PointCloud2" or "sensor_msgs/PointCloud2"
  std::string encoding;  // "cdr", "ros1", or what else the file says
  uint64_t messages = 0;

  // The type in ROS 2's form, whichever it was recorded in.
  [[nodiscard]] std::string Type() const;
};

struct Message {
  size_t topic = 0;         // index into Bag::topics
  int64_t recorded_ns = 0;  // when it was recorded, since the Unix epoch
  absl::string_view bytes;  // serialized; valid until the cursor moves on
};

// Reads messages in the order of recorded_ns. For one thread. The bag must outlive it.
class Cursor {
 public:
  virtual ~Cursor() = default;
  // False at the end. After an error there is nothing more.
  [[nodiscard]] absl::StatusOr<bool> Next(Message* message) {
    if (done_) return false;
    absl::StatusOr<bool> more = Fetch(message);
    done_ = !more.ok() || !*more;
    return more;
  }

 private:
  // As Next; not called again after the end or an error.
  [[nodiscard]] virtual absl::StatusOr<bool> Fetch(Message* message) = 0;

  bool done_ = false;
};

// Metadata of a bag.
struct BagContents {
  std::string format;  // "rosbag2 (SQLite)", "MCAP", "ROS 1 bag"
  std::vector<Topic> topics;
  int64_t first_ns = 0;  // of the messages, by recorded_ns; 0 and 0 without any
  int64_t last_ns = 0;
  // What its user should know, such as that the file was not closed. Usually empty.
  std::vector<std::string> remarks;

  [[nodiscard]] uint64_t messages() const {
    uint64_t sum = 0;
    for (const Topic& topic : topics) sum += topic.messages;
    return sum;
  }
  // The index of a topic, which is added, or its messages to those of the same topic.
  size_t AddTopic(const Topic& topic);
};

class Bag {
 public:
  virtual ~Bag() = default;
  [[nodiscard]] const BagContents& contents() const { return contents_; }
  // The messages of the topics with these indices; any number of cursors may be open.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<Cursor>> Read(
      const std::vector<size_t>& topics) const = 0;

 protected:
  BagContents contents_;
};

// A file, or rosbag2's directory of files; several are one recording, in the order of their first
// messages. Files that are compressed as a whole (zstd, lz4) are decompressed to temporary ones.
// NotFound, InvalidArgument (no bag, or damaged) and ResourceExhausted errors name the file.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Bag>> OpenBag(const std::vector<std::string>& paths);

// The readers of each format. Messages that rosbag2 has compressed one by one are decompressed.
//
// MCAP files (https://mcap.dev/spec): what ROS 2 records to since Iron, and what many tools write.
// Chunks without compression or with lz4 or zstd, messages outside of chunks, files with and
// without a summary, and files that were not closed. Checksums of chunks and of the summary are
// checked.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Bag>> OpenMcapBag(const std::string& path);

// ROS 1 bags of version 2.0 (https://wiki.ros.org/Bags/Format/2.0), which is what every ROS since
// 2010 writes. Chunks without compression or with bz2 or lz4, bags with and without an index, and
// bags whose recording was cut off (.bag.active). Not encrypted ones.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Bag>> OpenRos1Bag(const std::string& path);

// rosbag2's SQLite files (.db3): the tables `topics` and `messages`. The file is read only, and
// what is in it is data: views, virtual tables and triggers are not run.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Bag>> OpenSqliteBag(const std::string& path);

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_BAG_H_
