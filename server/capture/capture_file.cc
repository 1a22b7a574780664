// SPDX-License-Identifier: Apache-2.0

#include "server/capture/capture_file.h"

#include <cstring>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"

#if !defined(ABSL_IS_LITTLE_ENDIAN)
#error "The file's numbers are little endian, and so must be the host."
#endif

namespace voxloc::server {
namespace {

constexpr absl::string_view kMagic = "voxcap1\n";

// What stands behind the magic.
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

std::string EncodeHeader(absl::string_view info, absl::string_view capture) {
  Header header;
  header.capture_bytes = capture.size();
  header.capture_crc = Crc32c(capture);
  header.info_bytes = static_cast<uint32_t>(info.size());
  header.info_crc = Crc32c(info);
  std::string bytes(kMagic);
  bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  header.crc = Crc32c(absl::string_view(bytes).substr(0, kCrcOffset));
  std::memcpy(bytes.data() + kCrcOffset, &header.crc, sizeof(header.crc));
  return bytes;
}

absl::StatusOr<Header> DecodeHeader(absl::string_view head, uint64_t file_bytes) {
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
  return header;
}

absl::StatusOr<v1::CaptureInfo> DecodeInfo(const Header& header, absl::string_view head,
                                           uint64_t file_bytes) {
  if (header.info_bytes > head.size() - kHeaderBytes) {
    return absl::DataLossError(absl::StrCat("the info must have at most ",
                                            kCaptureHeadBytes - kHeaderBytes, " bytes (got ",
                                            header.info_bytes, ")"));
  }
  const absl::string_view bytes = head.substr(kHeaderBytes, header.info_bytes);
  v1::CaptureInfo info;
  if (Crc32c(bytes) != header.info_crc ||
      !info.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("the info is damaged");
  }
  info.set_bytes(file_bytes);
  return info;
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
  return absl::StrCat(EncodeHeader(info, body), info, body);
}

absl::StatusOr<v1::CaptureInfo> DecodeCaptureInfo(absl::string_view head, uint64_t file_bytes) {
  const absl::StatusOr<Header> header = DecodeHeader(head, file_bytes);
  if (!header.ok()) return header.status();
  return DecodeInfo(*header, head, file_bytes);
}

absl::StatusOr<v1::Capture> DecodeCaptureFile(absl::string_view file) {
  const absl::StatusOr<Header> header = DecodeHeader(file, file.size());
  if (!header.ok()) return header.status();
  absl::StatusOr<v1::CaptureInfo> info =
      DecodeInfo(*header, file.substr(0, kCaptureHeadBytes), file.size());
  if (!info.ok()) return info.status();
  const absl::string_view body = file.substr(kHeaderBytes + header->info_bytes);
  v1::Capture capture;
  if (body.size() > INT32_MAX || Crc32c(body) != header->capture_crc ||
      !capture.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return absl::DataLossError("the capture is damaged");
  }
  *capture.mutable_info() = *std::move(info);
  return capture;
}

}  // namespace voxloc::server
