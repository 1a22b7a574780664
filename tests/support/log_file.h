// SPDX-License-Identifier: Apache-2.0
//
// LogFile: captures the log of a server in this process by redirecting standard error to a file.
// Log lines are written asynchronously, so tests wait for them.

#ifndef VOXLOC_TESTS_SUPPORT_LOG_FILE_H_
#define VOXLOC_TESTS_SUPPORT_LOG_FILE_H_

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {

class LogFile {
 public:
  LogFile() : path_(folder_.Path("log")), saved_stderr_(dup(STDERR_FILENO)) {
    const int file = open(path_.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(file, STDERR_FILENO);
    close(file);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() {
    dup2(saved_stderr_, STDERR_FILENO);
    close(saved_stderr_);
  }

  // The lines of this event that contain the text.
  [[nodiscard]] int CountLines(const std::string& event, const std::string& with = "") const {
    std::ifstream file(path_);
    int count = 0;
    for (std::string line; std::getline(file, line);) {
      const bool of_event =
          absl::StrContains(absl::StrCat(line, " "), absl::StrCat("event=", event, " "));
      if (of_event && absl::StrContains(line, with)) ++count;
    }
    return count;
  }
  [[nodiscard]] bool HasLine(const std::string& event, const std::string& with) const {
    return CountLines(event, with) > 0;
  }

 private:
  const ScratchDir folder_;
  const std::string path_;
  const int saved_stderr_;
};

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_LOG_FILE_H_
