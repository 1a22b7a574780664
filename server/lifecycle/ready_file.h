// SPDX-License-Identifier: Apache-2.0
//
// The ready file: reports to scripts where a server listens. It appears whole, once the server is
// serving, and is removed with its owner. Not thread-safe.

#ifndef VOXLOC_SERVER_LIFECYCLE_READY_FILE_H_
#define VOXLOC_SERVER_LIFECYCLE_READY_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace voxloc::server {

struct ReadyFileContent {
  std::string listen;   // address:port
  std::string metrics;  // address:port; empty: off
  std::string engine;   // "cpu" or "cuda"
};

class ReadyFile {
 public:
  // Writes the file. Unavailable: the file system refused.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<ReadyFile>> Write(
      const std::string& path, const ReadyFileContent& content);

  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;
  ~ReadyFile();

 private:
  explicit ReadyFile(std::string path) : path_(std::move(path)) {}

  const std::string path_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_LIFECYCLE_READY_FILE_H_
