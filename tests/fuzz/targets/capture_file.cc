// SPDX-License-Identifier: Apache-2.0
//
// Files of captures, as they are and with checksums that are right: for the latter, the first two
// bytes are the length of the info, and info and capture follow.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/checksum/crc32c.h"
#include "server/capture/capture_store.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {
namespace {

void Append(const void* value, size_t bytes, std::string& file) {
  file.append(static_cast<const char*>(value), bytes);
}

std::string Sealed(absl::string_view bytes) {
  uint16_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  const absl::string_view rest = bytes.substr(sizeof(length));
  const absl::string_view info = rest.substr(0, std::min<size_t>(length, rest.size()));
  const absl::string_view capture = rest.substr(info.size());
  const uint64_t capture_bytes = capture.size();
  const uint32_t capture_crc = Crc32c(capture);
  const auto info_bytes = static_cast<uint32_t>(info.size());
  const uint32_t info_crc = Crc32c(info);
  std::string file = "voxcap1\n";
  Append(&capture_bytes, sizeof(capture_bytes), file);
  Append(&capture_crc, sizeof(capture_crc), file);
  Append(&info_bytes, sizeof(info_bytes), file);
  Append(&info_crc, sizeof(info_crc), file);
  const uint32_t crc = Crc32c(file);
  Append(&crc, sizeof(crc), file);
  return file.append(info.data(), info.size()).append(capture.data(), capture.size());
}

absl::Status DecodeAsCapture(absl::string_view file) {
  const absl::string_view head = file.substr(0, server::kCaptureHeadBytes);
  const auto info = server::DecodeCaptureInfo(head, file.size());
  const auto capture = server::DecodeCaptureFile(file);
  FuzzRequire(info.ok() || !capture.ok(), "a file that can be read can be listed");
  if (info.ok()) FuzzRequire(info->bytes() == file.size(), "the info has the file's size");
  if (!capture.ok()) return capture.status();
  FuzzRequire(capture->info().SerializeAsString() == info->SerializeAsString(),
              "the capture's info is the list's");
  const auto again = server::EncodeCaptureFile(*capture);
  if (!again.ok()) return absl::OkStatus();  // the info has grown by its size
  const auto decoded = server::DecodeCaptureFile(*again);
  FuzzRequire(decoded.ok() &&
                  decoded->request().SerializeAsString() == capture->request().SerializeAsString(),
              "a capture comes back as it was written");
  return absl::OkStatus();
}

}  // namespace

absl::Status FuzzCaptureFile(absl::string_view bytes) {
  const absl::Status as_it_is = DecodeAsCapture(bytes);
  return bytes.size() < sizeof(uint16_t) || as_it_is.ok() ? as_it_is
                                                          : DecodeAsCapture(Sealed(bytes));
}

}  // namespace voxloc
