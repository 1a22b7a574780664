// SPDX-License-Identifier: Apache-2.0
//
// The file of one capture: a header, voxloc.v1.CaptureInfo, so that a folder of captures is listed
// without reading their points, and voxloc.v1.Capture. Header and both messages have checksums.
// Thread-safe: no state.

#ifndef VOXLOC_SERVER_CAPTURE_CAPTURE_FILE_H_
#define VOXLOC_SERVER_CAPTURE_CAPTURE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "voxloc/v1/capture.pb.h"

namespace voxloc::server {

// Bytes from the beginning of a file that have its info at least, if they are all there.
inline constexpr size_t kCaptureHeadBytes = 4096;

// InvalidArgument: the info has more than kCaptureHeadBytes.
[[nodiscard]] absl::StatusOr<std::string> EncodeCaptureFile(const v1::Capture& capture);

// What a file of `file_bytes` is of, from its first kCaptureHeadBytes, or all it has; with its
// size. DataLoss: it is not a file of a capture, or is damaged or truncated.
[[nodiscard]] absl::StatusOr<v1::CaptureInfo> DecodeCaptureInfo(absl::string_view head,
                                                                uint64_t file_bytes);

// A whole file. DataLoss likewise.
[[nodiscard]] absl::StatusOr<v1::Capture> DecodeCaptureFile(absl::string_view file);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CAPTURE_CAPTURE_FILE_H_
