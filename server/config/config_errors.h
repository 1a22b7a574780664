// SPDX-License-Identifier: Apache-2.0
//
// ConfigErrors: collects the errors of a configuration, up to a readable number. Not thread-safe.

#ifndef VOXLOC_SERVER_CONFIG_CONFIG_ERRORS_H_
#define VOXLOC_SERVER_CONFIG_CONFIG_ERRORS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc::server {

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

#endif  // VOXLOC_SERVER_CONFIG_CONFIG_ERRORS_H_
