// SPDX-License-Identifier: Apache-2.0
//
// A call with a message that is compressed before, so that a small request expands to any size.
// Thread-safe: no shared state.

#ifndef VOXLOC_TESTS_E2E_COMPRESSED_CALL_H_
#define VOXLOC_TESTS_E2E_COMPRESSED_CALL_H_

#include <grpc/compression.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <string>

namespace voxloc {

// So many zeros, in the format of `algorithm`: deflate (zlib's) or gzip.
[[nodiscard]] std::string CompressedZeros(size_t bytes, grpc_compression_algorithm algorithm);

// Sends the message, marked as compressed, to a method such as "/package.Service/Method", without
// TLS; returns the call's code.
[[nodiscard]] grpc::StatusCode CallWithCompressed(const std::string& address,
                                                  const std::string& method,
                                                  const std::string& message,
                                                  grpc_compression_algorithm algorithm);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_E2E_COMPRESSED_CALL_H_
