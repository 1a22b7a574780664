// SPDX-License-Identifier: Apache-2.0

#include "server/config/host_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/process_limits.h"
#include "core/parallel/processors.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::server {
namespace {

using ::testing::HasSubstr;

HostResources HostWith(uint64_t memory_bytes) {
  HostResources host;
  host.processors = 3;
  host.processors_from = "3 usable processors";
  host.memory_bytes = memory_bytes;
  host.memory_from = "its memory";
  return host;
}

EffectiveConfig Resolved(uint64_t memory_bytes, const EffectiveConfig& before = EffectiveConfig()) {
  EffectiveConfig config = before;
  ResolveDefaults(HostWith(memory_bytes), config);
  return config;
}

TEST(HostResourcesTest, FollowTheControlGroup) {
  const ScratchDir scratch;
  const CgroupFiles files{scratch.Write("self_cgroup", "0::/\n"), scratch.Path("cgroup")};
  scratch.Write("cgroup/cpu.max", "50000 100000\n");
  scratch.Write("cgroup/memory.max", "134217728\n");
  HostResources host = DetectHostResources(files);
  EXPECT_EQ(host.processors, 1U);
  EXPECT_EQ(host.memory_bytes, uint64_t{128} << 20U);
  EXPECT_EQ(host.memory_from, "the limit of the control group, 128 MiB");
  if (AffinityProcessors() > 1) {
    EXPECT_THAT(host.processors_from, HasSubstr("the CPU quota of 0.5 processors"));
  }

  scratch.Write("cgroup/cpu.max", "max 100000\n");
  scratch.Write("cgroup/memory.max", "max\n");
  host = DetectHostResources(files);
  EXPECT_EQ(host.processors, AffinityProcessors());
  EXPECT_EQ(host.memory_bytes, PhysicalMemoryBytes());
  EXPECT_THAT(host.memory_from, HasSubstr("the memory of the machine, "));
}

TEST(HostResourcesTest, DefaultsFollowTheMemory) {
  const EffectiveConfig large = Resolved(uint64_t{64} << 30U);
  EXPECT_EQ(large.config.threads, 3U);
  EXPECT_EQ(large.config.limits.max_queued_bytes, uint64_t{1} << 30U);
  EXPECT_EQ(large.config.limits.max_reply_bytes, uint64_t{1} << 30U);
  EXPECT_EQ(large.config.limits.search_cache_bytes, uint64_t{1} << 30U);
  // Both, and 48 messages of 16 MiB.
  EXPECT_EQ(large.config.limits.max_transport_bytes, (uint64_t{2} << 30U) + (uint64_t{768} << 20U));
  EXPECT_EQ(large.origins.at("limits.max_queued_bytes").origin, ConfigOrigin::kDetected);
  EXPECT_EQ(large.origins.at("threads").place, "3 usable processors");

  const EffectiveConfig small = Resolved(uint64_t{4} << 30U);
  EXPECT_EQ(small.config.limits.max_queued_bytes, uint64_t{128} << 20U);
  EXPECT_EQ(small.config.limits.max_transport_bytes, uint64_t{512} << 20U);
  const EffectiveConfig tiny = Resolved(uint64_t{128} << 20U);
  EXPECT_EQ(tiny.config.limits.max_queued_bytes, uint64_t{64} << 20U);
}

TEST(HostResourcesTest, ConnectionsFollowTheOpenFilesAndTheMemory) {
  const auto connections = [](uint64_t open_files, uint64_t memory_bytes) {
    HostResources host = HostWith(memory_bytes);
    host.open_files = open_files;
    EffectiveConfig config;
    ResolveDefaults(host, config);
    return config.config.connections.max_open;
  };
  EXPECT_EQ(connections(1024, uint64_t{64} << 30U), 768U);
  EXPECT_EQ(connections(1 << 20, uint64_t{4} << 30U), 8192U);
  EXPECT_EQ(connections(100, uint64_t{64} << 30U), 64U);
  EXPECT_GT(DetectHostResources().open_files, 0U);
}

TEST(HostResourcesTest, AllThatMayBeHeldFitsIntoTheMemory) {
  for (const uint64_t gib : {4, 8, 16, 64, 512}) {
    const uint64_t memory = gib << 30U;
    const Limits limits = Resolved(memory).config.limits;
    EXPECT_LE(memory / kMapMemoryDenominator * kMapMemoryNumerator + limits.max_queued_bytes +
                  limits.max_reply_bytes + limits.search_cache_bytes + limits.max_transport_bytes,
              memory)
        << gib;
  }
}

TEST(HostResourcesTest, WhatIsSetStays) {
  EffectiveConfig config;
  config.config.threads = 7;
  config.config.limits.max_queued_bytes = 1 << 20;
  config.config.limits.max_reply_bytes = 2 << 20;
  config.config.limits.search_cache_bytes = 1;
  config.config.limits.max_transport_bytes = 5;
  config.config.connections.max_open = 6;
  const EffectiveConfig resolved = Resolved(uint64_t{64} << 30U, config);
  EXPECT_EQ(resolved.config.threads, 7U);
  EXPECT_EQ(resolved.config.limits.max_queued_bytes, uint64_t{1} << 20U);
  EXPECT_EQ(resolved.config.limits.max_reply_bytes, uint64_t{2} << 20U);
  EXPECT_EQ(resolved.config.limits.search_cache_bytes, 1U);
  EXPECT_EQ(resolved.config.limits.max_transport_bytes, 5U);
  EXPECT_EQ(resolved.config.connections.max_open, 6U);
  EXPECT_TRUE(resolved.origins.empty());
}

}  // namespace
}  // namespace voxloc::server
