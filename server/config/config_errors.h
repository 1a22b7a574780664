// SPDX-License-Identifier: Apache-2.0
//
// ConfigErrors: what is wrong with a configuration, all of it at once as far as a person reads it.
// Not thread-safe.

#ifndef VOXLOC_SERVER_CONFIG_CONFIG_ERRORS_H_
#define VOXLOC_SERVER_CONFIG_CONFIG_ERRORS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace voxloc::server {

class ConfigErrors {
 public:
  // Beyond these nothing is kept: half the lines of a terminal of 48.
  static constexpr size_t kMost = 24;

  // `where`: file, line and column, the flag or the variable.
  void Add(absl::string_view where, const absl::Status& error);
  void Add(absl::string_view where, absl::string_view error) {
    Add(where, absl::InvalidArgumentError(error));
  }

  // What says itself where it is. Ok adds nothing.
  void Add(const absl::Status& error);

  // Whether there are so many errors that looking for more is of no use.
  [[nodiscard]] bool full() const { return errors_.size() >= kMost; }

  // Ok without errors; otherwise all of them, one a line, with the code of the first.
  [[nodiscard]] absl::Status Status() const;

 private:
  std::vector<absl::Status> errors_;
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_CONFIG_ERRORS_H_
