// SPDX-License-Identifier: Apache-2.0

#include "server/lifecycle/ready_file.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace voxloc::server {

absl::StatusOr<std::unique_ptr<ReadyFile>> ReadyFile::Write(const std::string& path,
                                                            const ReadyFileContent& content) {
  const nlohmann::ordered_json json = {
      {"listen", content.listen}, {"metrics", content.metrics}, {"engine", content.engine}};
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  {
    std::ofstream file(temporary, std::ios::trunc);
    file << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    file.close();
    if (!file) {
      std::remove(temporary.c_str());
      return absl::UnavailableError(absl::StrCat("--ready-file: cannot write ", temporary));
    }
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    return absl::UnavailableError(absl::StrCat("--ready-file: cannot write ", path));
  }
  return absl::WrapUnique(new ReadyFile(path));
}

ReadyFile::~ReadyFile() { std::remove(path_.c_str()); }

}  // namespace voxloc::server
