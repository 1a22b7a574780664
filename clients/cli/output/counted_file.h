// SPDX-License-Identifier: Apache-2.0
//
// CountedFile: a file of records that are written as they come, under a head that names their
// number, which is known at the end. Not thread-safe.

#ifndef VOXLOC_CLIENTS_CLI_OUTPUT_COUNTED_FILE_H_
#define VOXLOC_CLIENTS_CLI_OUTPUT_COUNTED_FILE_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace voxloc::cli {

class CountedFile {
 public:
  // Of this number of records; as long for every number.
  using Head = std::function<std::string(uint64_t count)>;

  // The error names the file and the system's reason, as those below.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<CountedFile>> Create(const std::string& path,
                                                                           Head head);
  // Removes the file, unless Close has succeeded.
  ~CountedFile();
  CountedFile(const CountedFile&) = delete;
  CountedFile& operator=(const CountedFile&) = delete;

  [[nodiscard]] absl::Status Add(absl::string_view records, uint64_t count = 1);

  // To be called once, and nothing after it.
  [[nodiscard]] absl::Status Close();

 private:
  CountedFile(std::string path, std::FILE* file, Head head);

  [[nodiscard]] absl::Status Put(absl::string_view bytes);

  const std::string path_;
  std::FILE* file_;  // nullptr: closed
  const Head head_;
  bool complete_ = false;
  uint64_t count_ = 0;
};

// The head of a binary, little-endian PLY of `count` vertices. `properties`: "double x\n...".
[[nodiscard]] std::string PlyHead(absl::string_view comment, absl::string_view properties,
                                  uint64_t count);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_OUTPUT_COUNTED_FILE_H_
