// SPDX-License-Identifier: Apache-2.0
//
// McapWriter: writes messages of ROS 2 to an MCAP file (https://mcap.dev/spec) with the profile
// "ros2": schemas ros2msg, messages in CDR; chunks with checksums and an index, and a summary.
// Chunks are not compressed: points make up most of them, and the digits of their floats hardly get
// shorter. Memory holds one chunk and a few hundred bytes for every chunk before it. Not
// thread-safe.

#ifndef VOXLOC_CLIENTS_DATASET_BAG_MCAP_WRITER_H_
#define VOXLOC_CLIENTS_DATASET_BAG_MCAP_WRITER_H_

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/dataset/bag/byte_writer.h"

namespace voxloc::bag {

class McapWriter {
 public:
  // Creates the file, or replaces one. `library`: the name of the program that writes. The error
  // names the file and the system's reason.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<McapWriter>> Create(
      const std::string& path, absl::string_view library);

  // What was written stays without a summary, unless Close was called.
  ~McapWriter();
  McapWriter(const McapWriter&) = delete;
  McapWriter& operator=(const McapWriter&) = delete;

  // `type`: such as "sensor_msgs/msg/PointCloud2"; `definition`: of it, in the format ros2msg.
  // Returns the channel. At most 65,535 channels.
  [[nodiscard]] uint16_t AddChannel(absl::string_view topic, absl::string_view type,
                                    absl::string_view definition);

  // `time_ns`: when it was recorded and published, since the Unix epoch; a negative one counts as
  // 0, since MCAP's are unsigned. An error of the file is kept, and Close returns it.
  void Write(uint16_t channel, int64_t time_ns, absl::string_view message);

  // Writes the last chunk and the summary. The error is the first of the file. To be called once,
  // and nothing after it.
  [[nodiscard]] absl::Status Close();

 private:
  struct ChunkIndex {
    uint64_t first_ns = 0;
    uint64_t last_ns = 0;
    uint64_t offset = 0;       // of the chunk's record
    uint64_t bytes = 0;        // of the chunk's record
    uint64_t index_bytes = 0;  // of the records of the index after it
    uint64_t records_bytes = 0;
    std::map<uint16_t, uint64_t> index_offsets;  // by channel
  };
  // Of the messages of a channel in a chunk: time, and offset in the uncompressed records.
  using MessageIndex = std::vector<std::pair<uint64_t, uint64_t>>;

  McapWriter(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

  void Put(absl::string_view bytes);
  void EndChunk();
  [[nodiscard]] std::string Summary() const;

  std::string path_;
  std::FILE* file_;      // nullptr: closed
  absl::Status status_;  // the first error
  uint64_t offset_ = 0;
  std::string definitions_;  // records of the schemas and channels
  std::map<uint16_t, uint64_t> messages_;
  uint64_t first_ns_ = 0;
  uint64_t last_ns_ = 0;

  // The chunk that is being filled.
  ByteWriter records_;
  uint64_t chunk_first_ns_ = 0;
  uint64_t chunk_last_ns_ = 0;
  std::map<uint16_t, MessageIndex> chunk_index_;

  std::vector<ChunkIndex> chunks_;
};

}  // namespace voxloc::bag

#endif  // VOXLOC_CLIENTS_DATASET_BAG_MCAP_WRITER_H_
