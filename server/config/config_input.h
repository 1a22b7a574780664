// SPDX-License-Identifier: Apache-2.0
//
// What reading configurations needs: small files, errors that are collected, and suggestions for
// misspelt names. Thread-safe, except for one ConfigErrors.

#ifndef VOXLOC_SERVER_CONFIG_CONFIG_INPUT_H_
#define VOXLOC_SERVER_CONFIG_CONFIG_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace voxloc::server {

// NotFound: the file cannot be read, with why. InvalidArgument: it has more bytes than `most`.
[[nodiscard]] absl::StatusOr<std::string> ReadTextFile(const std::string& path, size_t most);

// Device, inode, size, time of the last change in seconds and nanoseconds: equal for a file that
// has not changed. All 0: there is none.
using FileStamp = std::tuple<uint64_t, uint64_t, int64_t, int64_t, int64_t>;
[[nodiscard]] FileStamp StampOf(const std::string& path);

// "; did you mean NEAREST?"; empty: no known name is near.
[[nodiscard]] std::string DidYouMean(absl::string_view typed,
                                     const std::vector<std::string>& known);

// The errors of a configuration, up to a readable number.
class ConfigErrors {
 public:
  // Further errors are dropped: half a terminal of 48 lines.
  static constexpr size_t kMaxErrors = 24;

  // `where`: file, line and column, the flag or the variable.
  void Add(absl::string_view where, const absl::Status& error);
  void Add(absl::string_view where, absl::string_view error) {
    Add(where, absl::InvalidArgumentError(error));
  }

  // An error whose message names its place. Ok adds nothing.
  void Add(const absl::Status& error);

  // Whether the limit is reached, so that further checks are pointless.
  [[nodiscard]] bool full() const { return errors_.size() >= kMaxErrors; }

  // Ok without errors; otherwise all of them, one a line, with the code of the first.
  [[nodiscard]] absl::Status Status() const;

 private:
  std::vector<absl::Status> errors_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_CONFIG_INPUT_H_
