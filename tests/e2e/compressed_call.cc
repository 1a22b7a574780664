// SPDX-License-Identifier: Apache-2.0

#include "tests/e2e/compressed_call.h"

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <vector>

namespace voxloc {

std::string CompressedZeros(size_t bytes, grpc_compression_algorithm algorithm) {
  // zlib.h: the largest window; 16 more for gzip's header.
  const int window_bits = algorithm == GRPC_COMPRESS_GZIP ? 15 + 16 : 15;
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY),
            Z_OK);
  std::vector<Bytef> zeros(1 << 20);
  std::vector<Bytef> buffer(1 << 16);
  std::string compressed;
  for (int done = Z_OK; done != Z_STREAM_END;) {
    const size_t piece = std::min(bytes, zeros.size());
    bytes -= piece;
    stream.next_in = zeros.data();
    stream.avail_in = static_cast<uInt>(piece);
    do {
      stream.next_out = buffer.data();
      stream.avail_out = static_cast<uInt>(buffer.size());
      done = deflate(&stream, bytes == 0 ? Z_FINISH : Z_NO_FLUSH);
      compressed.append(reinterpret_cast<const char*>(buffer.data()),
                        buffer.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return compressed;
}

// By gRPC's C interface: that of C++ compresses messages itself.
grpc::StatusCode CallWithCompressed(const std::string& address, const std::string& method,
                                    const std::string& message,
                                    grpc_compression_algorithm algorithm) {
  grpc_init();
  grpc_channel_credentials* const credentials = grpc_insecure_credentials_create();
  grpc_channel* const channel = grpc_channel_create(address.c_str(), credentials, nullptr);
  grpc_channel_credentials_release(credentials);
  grpc_completion_queue* const queue = grpc_completion_queue_create_for_pluck(nullptr);
  grpc_call* const call = grpc_channel_create_call(
      channel, nullptr, GRPC_PROPAGATE_DEFAULTS, queue,
      grpc_slice_from_static_string(method.c_str()), nullptr,
      gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_seconds(60, GPR_TIMESPAN)), nullptr);

  const char* name = nullptr;
  EXPECT_TRUE(grpc_compression_algorithm_name(algorithm, &name));
  grpc_metadata encoding{};
  encoding.key = grpc_slice_from_static_string(GRPC_COMPRESSION_REQUEST_ALGORITHM_MD_KEY);
  encoding.value = grpc_slice_from_static_string(name);
  grpc_slice bytes = grpc_slice_from_copied_buffer(message.data(), message.size());
  grpc_byte_buffer* const compressed = grpc_raw_compressed_byte_buffer_create(&bytes, 1, algorithm);
  grpc_slice_unref(bytes);
  std::array<grpc_op, 3> sent{};
  sent[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  sent[0].data.send_initial_metadata.count = 1;
  sent[0].data.send_initial_metadata.metadata = &encoding;
  sent[1].op = GRPC_OP_SEND_MESSAGE;
  sent[1].data.send_message.send_message = compressed;
  sent[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
  EXPECT_EQ(grpc_call_start_batch(call, sent.data(), sent.size(), sent.data(), nullptr),
            GRPC_CALL_OK);

  // gRPC's client reports the status only if the initial metadata is received.
  grpc_metadata_array headers{};
  grpc_metadata_array trailers{};
  grpc_status_code code = GRPC_STATUS_OK;
  grpc_slice details = grpc_empty_slice();
  std::array<grpc_op, 2> received{};
  received[0].op = GRPC_OP_RECV_INITIAL_METADATA;
  received[0].data.recv_initial_metadata.recv_initial_metadata = &headers;
  received[1].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
  received[1].data.recv_status_on_client.trailing_metadata = &trailers;
  received[1].data.recv_status_on_client.status = &code;
  received[1].data.recv_status_on_client.status_details = &details;
  EXPECT_EQ(grpc_call_start_batch(call, received.data(), received.size(), received.data(), nullptr),
            GRPC_CALL_OK);
  for (void* const tag : {static_cast<void*>(sent.data()), static_cast<void*>(received.data())}) {
    static_cast<void>(
        grpc_completion_queue_pluck(queue, tag, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr));
  }

  grpc_slice_unref(details);
  grpc_metadata_array_destroy(&headers);
  grpc_metadata_array_destroy(&trailers);
  grpc_byte_buffer_destroy(compressed);
  grpc_call_unref(call);
  grpc_channel_destroy(channel);
  grpc_completion_queue_destroy(queue);
  grpc_shutdown();
  return static_cast<grpc::StatusCode>(code);
}

}  // namespace voxloc
