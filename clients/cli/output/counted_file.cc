// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output/counted_file.h"

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "clients/dataset/write_error.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// Digits of the largest count.
constexpr size_t kCountDigits = 20;

absl::Status FileError(const std::string& path) {
  return absl::InternalError(WriteErrorText(path, errno));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CountedFile>> CountedFile::Create(const std::string& path,
                                                                 Head head) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return FileError(path);
  std::unique_ptr<CountedFile> records(new CountedFile(path, file, std::move(head)));
  VOXLOC_TRY(records->Put(records->head_(0)));
  return records;
}

CountedFile::CountedFile(std::string path, std::FILE* file, Head head)
    : path_(std::move(path)), file_(file), head_(std::move(head)) {}

CountedFile::~CountedFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!complete_) std::remove(path_.c_str());
}

absl::Status CountedFile::Put(absl::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size()) return absl::OkStatus();
  return FileError(path_);
}

absl::Status CountedFile::Add(absl::string_view records, uint64_t count) {
  count_ += count;
  return Put(records);
}

absl::Status CountedFile::Close() {
  std::rewind(file_);
  VOXLOC_TRY(Put(head_(count_)));
  if (std::fclose(std::exchange(file_, nullptr)) != 0) return FileError(path_);
  complete_ = true;
  return absl::OkStatus();
}

std::string PlyHead(absl::string_view comment, absl::string_view properties, uint64_t count) {
  const std::string number = absl::StrCat(count);
  // The comment fills the line, so that the head is as long for every count.
  return absl::StrCat("ply\nformat binary_little_endian 1.0\ncomment ", comment,
                      std::string(kCountDigits - number.size(), ' '), "\nelement vertex ", number,
                      "\nproperty ", absl::StrReplaceAll(properties, {{"\n", "\nproperty "}}),
                      "\nend_header\n");
}

}  // namespace voxloc::cli
