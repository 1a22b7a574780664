// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/compressed_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/file_bytes.h"

namespace voxloc::bag {
namespace {

constexpr size_t kStepBytes = size_t{1} << 20;

absl::Status WriteFully(int descriptor, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      const std::string reason = std::generic_category().message(error);
      return error == ENOSPC || error == EDQUOT || error == EFBIG
                 ? absl::ResourceExhaustedError(reason)
                 : absl::UnavailableError(reason);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status DecompressInto(const FileParts& file, Compression compression, int descriptor,
                            uint64_t* bytes) {
  const absl::StatusOr<std::unique_ptr<FrameDecoder>> decoder = FrameDecoder::Create(compression);
  if (!decoder.ok()) return decoder.status();
  std::string in;
  std::string out(kStepBytes, '\0');
  for (uint64_t offset = 0; offset < file.size();) {
    in.resize(static_cast<size_t>(std::min<uint64_t>(kStepBytes, file.size() - offset)));
    if (absl::Status status = file.Read(offset, in.size(), in.data()); !status.ok()) return status;
    offset += in.size();
    absl::string_view rest = in;
    bool full = false;
    while (!rest.empty() || full) {
      const size_t before = rest.size();
      const absl::StatusOr<size_t> made = (*decoder)->Decode(&rest, &out);
      if (!made.ok()) return made.status();
      if (*made == 0 && before > 0 && rest.size() == before) {
        return absl::InvalidArgumentError("the compressed data are damaged");
      }
      *bytes += *made;
      if (*bytes > kMostDecompressedBytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("a file must decompress to at most ", kMostDecompressedBytes, " bytes"));
      }
      absl::Status status = WriteFully(descriptor, absl::string_view(out).substr(0, *made));
      if (!status.ok()) return status;
      full = *made == out.size();
    }
  }
  if ((*decoder)->whole()) return absl::OkStatus();
  return absl::InvalidArgumentError("the compressed data end early");
}

}  // namespace

absl::StatusOr<DecompressedFile> DecompressedFile::Create(const std::string& path,
                                                          Compression compression) {
  const absl::StatusOr<FileParts> file = FileParts::Open(path);
  if (!file.ok()) return file.status();
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::temp_directory_path(error);
  std::string name = (directory / "voxloc_bag_XXXXXX").string();
  const int descriptor = error ? -1 : ::mkstemp(name.data());
  if (descriptor < 0) {
    return absl::UnavailableError(absl::StrCat(path, ": there is no place to decompress it in ",
                                               directory.string(), " (TMPDIR sets another)"));
  }
  DecompressedFile decompressed(name);
  absl::Status status = DecompressInto(*file, compression, descriptor, &decompressed.bytes_);
  if (::close(descriptor) != 0 && status.ok()) {
    status = absl::UnavailableError(std::generic_category().message(errno));
  }
  if (status.ok()) return decompressed;
  return absl::Status(
      status.code(),
      absl::StrCat(
          path, ": it cannot be decompressed to ", directory.string(),
          " (TMPDIR sets another place; 'zstd -d' does it beside the file): ", status.message()));
}

DecompressedFile::~DecompressedFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace voxloc::bag
