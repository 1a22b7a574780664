// SPDX-License-Identifier: Apache-2.0

#include "server/config/host_resources.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "core/parallel/processors.h"

namespace voxloc::server {
namespace {

constexpr uint64_t kMaxUint32 = std::numeric_limits<uint32_t>::max();

}  // namespace

HostResources DetectHostResources(const CgroupFiles& files) {
  HostResources host;
  const size_t affinity = AffinityProcessors();
  const std::optional<double> quota = CgroupCpuQuota(files);
  host.processors = UsableProcessors(files);
  host.processors_from =
      quota.has_value() && host.processors < affinity
          ? absl::StrCat("the CPU quota of ", *quota, " processors (", affinity, " usable)")
          : absl::StrCat(affinity, " usable processors");
  const std::optional<uint64_t> limit = CgroupMemoryLimit(files);
  host.memory_bytes = UsableMemoryBytes(files);
  host.memory_from = absl::StrCat(limit.has_value() && host.memory_bytes == *limit
                                      ? "the limit of the control group, "
                                      : "the memory of the machine, ",
                                  host.memory_bytes >> 20U, " MiB");
  host.open_files = OpenFilesLimit();
  return host;
}

void ResolveDefaults(const HostResources& host, EffectiveConfig& config) {
  Limits& limits = config.config.limits;
  const uint64_t share =
      std::clamp(host.memory_bytes / kShareDenominator, kMinShareBytes, kMaxShareBytes);
  const std::string share_from =
      absl::StrCat("1/", kShareDenominator, " of ", host.memory_from, ", from ",
                   kMinShareBytes >> 20U, " to ", kMaxShareBytes >> 20U, " MiB");
  const auto resolve = [&config](const std::string& key, uint64_t detected, const std::string& from,
                                 auto& value) {
    if (value != 0) return;
    value = static_cast<std::remove_reference_t<decltype(value)>>(detected);
    config.origins[key] = {ConfigOrigin::kDetected, from};
  };
  resolve("threads", host.processors, host.processors_from, config.config.threads);
  resolve("limits.max_queued_bytes", share, share_from, limits.max_queued_bytes);
  resolve("limits.max_reply_bytes", share, share_from, limits.max_reply_bytes);
  resolve("limits.search_cache_bytes", share, share_from, limits.search_cache_bytes);
  const uint64_t transport = std::min(
      TransportBytes(limits), std::max(host.memory_bytes / kTransportDenominator, kMinShareBytes));
  resolve("limits.max_transport_bytes", transport,
          absl::StrCat("the messages that the other limits let in, at most 1/",
                       kTransportDenominator, " of ", host.memory_from),
          limits.max_transport_bytes);
  const uint64_t descriptors =
      host.open_files > kOtherDescriptors ? host.open_files - kOtherDescriptors : 0;
  resolve("connections.max_open",
          std::max(kMinConnections,
                   std::min({descriptors, host.memory_bytes / kMemoryPerConnection, kMaxUint32})),
          absl::StrCat("the limit of open files, ", host.open_files, ", less ", kOtherDescriptors,
                       ", at most one for each ", kMemoryPerConnection >> 10U, " KiB of ",
                       host.memory_from),
          config.config.connections.max_open);
}

}  // namespace voxloc::server
