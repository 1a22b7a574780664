// SPDX-License-Identifier: Apache-2.0
//
// RequestWorld: what the conversions of requests look into: a configuration with its defaults and
// one resident map, "town". Its tiles have no points; nothing is aligned.

#ifndef VOXLOC_TESTS_FUZZ_REQUEST_WORLD_H_
#define VOXLOC_TESTS_FUZZ_REQUEST_WORLD_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/config/config.h"
#include "server/convert/options.h"
#include "server/convert/scan.h"
#include "server/maps/resident_maps.h"
#include "voxloc/v1/scan.pb.h"

namespace voxloc::server {

class RequestWorld {
 public:
  // The one of the process, made when it is first asked for.
  [[nodiscard]] static const RequestWorld& Get();

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const ResidentMaps& maps() const { return maps_; }

 private:
  RequestWorld();

  Config config_;
  Metrics metrics_;
  WorkQueue mapping_{"mapping", 16, metrics_.mapping_queue};
  ResidentMaps maps_{1, metrics_, mapping_};
};

// What the work on a scan does with the message before an engine sees it: checks it, decodes its
// points, moves and filters them as `recipe` says.
[[nodiscard]] absl::Status ReceiveScan(const v1::Scan& scan, const ScanRecipe& recipe,
                                       uint64_t max_points);

// Parses the bytes as a message. InvalidArgument: they are none; gRPC answers that by itself.
template <typename Message>
absl::StatusOr<Message> ParseRequest(absl::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("not a message");
  }
  return message;
}

}  // namespace voxloc::server

#endif  // VOXLOC_TESTS_FUZZ_REQUEST_WORLD_H_
