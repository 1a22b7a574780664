// SPDX-License-Identifier: Apache-2.0

#include "server/capture/capture_file.h"

#include <cstring>
#include <utility>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"
#include "core/status/try.h"

#if !defined(ABSL_IS_LITTLE_ENDIAN)
#error "The file's numbers are little endian, and so must be the host."
#endif

namespace voxloc::server {
namespace {

constexpr absl::string_view kMagic = "voxcap1\n";

// Follows the magic.
struct Header {
  uint64_t capture_bytes = 0;
  uint32_t capture_crc = 0;
  uint32_t info_bytes = 0;
  uint32_t info_crc = 0;
  uint32_t crc = 0;  // of the magic and what stands above
};
static_assert(sizeof(Header) == 24, "the header must have no gaps");

constexpr size_t kHeaderBytes = 8 + sizeof(Header);
constexpr size_t kCrcOffset = kHeaderBytes - sizeof(uint32_t);

// Header and info, from the beginning of a file of `file_bytes`.
struct Head {
  Header header;
  v1::CaptureInfo info;
};

absl::StatusOr<Head> DecodeHead(absl::string_view head, uint64_t file_bytes) {
  if (head.size() < kHeaderBytes || head.substr(0, kMagic.size()) != kMagic) {
    return absl::DataLossError("it is not a file of a capture");
  }
  Header header;
  std::memcpy(&header, head.data() + kMagic.size(), sizeof(header));
  if (header.crc != Crc32c(head.substr(0, kCrcOffset))) {
    return absl::DataLossError("the header is damaged");
  }
  // Without a sum that may overflow.
  const uint64_t rest = file_bytes - kHeaderBytes;
  if (header.info_bytes > rest || header.capture_bytes != rest - header.info_bytes) {
    return absl::DataLossError(absl::StrCat("it must have ", kHeaderBytes, " + ", header.info_bytes,
                                            " + ", header.capture_bytes, " bytes (got ", file_bytes,
                                            ")"));
  }
  const absl::string_view bytes = head.substr(kHeaderBytes, header.info_bytes);
  v1::CaptureInfo info;
  if (bytes.size() < header.info_bytes || Crc32c(bytes) != header.info_crc ||
      !info.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("the info is damaged");
  }
  info.set_bytes(file_bytes);
  return Head{header, std::move(info)};
}

}  // namespace

absl::StatusOr<std::string> EncodeCaptureFile(const v1::Capture& capture) {
  const std::string info = capture.info().SerializeAsString();
  if (kHeaderBytes + info.size() > kCaptureHeadBytes) {
    return absl::InvalidArgumentError(absl::StrCat("the info of a capture must have at most ",
                                                   kCaptureHeadBytes - kHeaderBytes, " bytes (got ",
                                                   info.size(), ")"));
  }
  const std::string body = capture.SerializeAsString();
  Header header;
  header.capture_bytes = body.size();
  header.capture_crc = Crc32c(body);
  header.info_bytes = static_cast<uint32_t>(info.size());
  header.info_crc = Crc32c(info);
  std::string file(kMagic);
  file.append(reinterpret_cast<const char*>(&header), sizeof(header));
  header.crc = Crc32c(absl::string_view(file).substr(0, kCrcOffset));
  std::memcpy(file.data() + kCrcOffset, &header.crc, sizeof(header.crc));
  return absl::StrCat(file, info, body);
}

absl::StatusOr<v1::CaptureInfo> DecodeCaptureInfo(absl::string_view head, uint64_t file_bytes) {
  VOXLOC_ASSIGN_OR_RETURN(Head decoded, DecodeHead(head, file_bytes));
  return std::move(decoded.info);
}

absl::StatusOr<v1::Capture> DecodeCaptureFile(absl::string_view file) {
  VOXLOC_ASSIGN_OR_RETURN(Head head, DecodeHead(file, file.size()));
  const absl::string_view body = file.substr(kHeaderBytes + head.header.info_bytes);
  v1::Capture capture;
  if (body.size() > INT32_MAX || Crc32c(body) != head.header.capture_crc ||
      !capture.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return absl::DataLossError("the capture is damaged");
  }
  *capture.mutable_info() = std::move(head.info);
  return capture;
}

}  // namespace voxloc::server
