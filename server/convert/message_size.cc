// SPDX-License-Identifier: Apache-2.0

#include "server/convert/message_size.h"

#include <cstddef>

namespace voxloc::server {
namespace {

// Of the message around a result: a tag and a length.
constexpr size_t kEnvelopeBytes = 16;

}  // namespace

void FitIntoMessage(uint64_t max_bytes, v1::AlignmentResult& result) {
  const bool may_be_large = result.has_aligned_cloud() || result.has_no_ground() ||
                            result.has_point_scores() || result.has_trace();
  if (!may_be_large) return;
  const auto leave_out = [&](const char* field, bool is_there, const auto& clear) {
    if (!is_there || result.ByteSizeLong() + kEnvelopeBytes <= max_bytes) return;
    clear();
    result.add_omitted(field);
  };
  leave_out("aligned_cloud", result.has_aligned_cloud(), [&] { result.clear_aligned_cloud(); });
  leave_out("no_ground.cloud", result.no_ground().has_cloud(),
            [&] { result.mutable_no_ground()->clear_cloud(); });
  leave_out("point_scores", result.has_point_scores(), [&] { result.clear_point_scores(); });
  leave_out("trace", result.has_trace(), [&] { result.clear_trace(); });
}

}  // namespace voxloc::server
