// SPDX-License-Identifier: Apache-2.0
//
// What the server's process may use of its machine, and the defaults that follow from it.
// Thread-safe: no state.

#ifndef VOXLOC_SERVER_CONFIG_HOST_RESOURCES_H_
#define VOXLOC_SERVER_CONFIG_HOST_RESOURCES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/host/process_limits.h"
#include "server/config/settings.h"

namespace voxloc::server {

struct HostResources {
  size_t processors = 1;        // the affinity mask's, at most the CPU quota rounded up
  std::string processors_from;  // such as "the CPU quota of 1.5 processors (8 usable)"
  uint64_t memory_bytes = 0;    // the machine's, at most the limit of the control group
  std::string memory_from;      // such as "the control group's limit of 2048 MiB"
  uint64_t open_files = 0;      // descriptors that the process may have open
};

[[nodiscard]] HostResources DetectHostResources(const CgroupFiles& files = {});

// Memory for maps in host memory, as a fraction of the memory that the process may use. The rest is
// for the shares below, and for a map revision that is composed while its predecessor is in use.
inline constexpr uint64_t kMapMemoryNumerator = 3;
inline constexpr uint64_t kMapMemoryDenominator = 4;
// Of waiting scans, of waiting replies and of the grids of searches, each: between kMinShareBytes
// (four messages of the largest size that is allowed by default) and kMaxShareBytes (256 turns of a
// LiDAR of 128 beams, 262,144 points of 16 bytes).
inline constexpr uint64_t kShareDenominator = 32;
inline constexpr uint64_t kMinShareBytes = uint64_t{64} << 20U;
inline constexpr uint64_t kMaxShareBytes = uint64_t{1} << 30U;
// Of gRPC's buffers, at most.
inline constexpr uint64_t kTransportDenominator = 8;
// Of open connections: a sixteenth of the memory at 32 KiB each, which gRPC 1.51 takes for one that
// is silent (29 kB with a stream, by voxloc_chaos idle-connections with 3,000).
inline constexpr uint64_t kMemoryPerConnection = uint64_t{512} << 10U;
// Descriptors for everything else: databases, devices, probes, logs.
inline constexpr uint64_t kOtherDescriptors = 256;
// However small the limit of open files is.
inline constexpr uint64_t kMinConnections = 64;

// Replaces what is 0 and stands for a value that follows from the host: `threads`,
// `limits.max_queued_bytes`, `limits.max_reply_bytes`, `limits.search_cache_bytes`,
// `limits.max_transport_bytes` and `connections.max_open`, with the origin kDetected.
// `limits.max_map_memory_bytes` needs the engine: see MapMemoryBytes.
void ResolveDefaults(const HostResources& host, EffectiveConfig& config);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONFIG_HOST_RESOURCES_H_
