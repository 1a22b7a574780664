// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "core/host/process_limits.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

// A tree of control groups as the kernel shows it.
class CgroupTest : public ::testing::Test {
 protected:
  CgroupFiles Member(const std::string& membership) {
    return {scratch_.Write("self_cgroup", membership), scratch_.Path("cgroup")};
  }
  void Write(const std::string& file, const std::string& text) {
    scratch_.Write("cgroup/" + file, text);
  }
  const ScratchDir scratch_;
};

TEST_F(CgroupTest, TheCpuQuotaIsTheShareOfThePeriod) {
  Write("cpu.max", "150000 100000\n");
  EXPECT_EQ(CgroupCpuQuota(Member("0::/\n")), 1.5);
  Write("cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpuQuota(Member("0::/\n")), std::nullopt);
}

TEST_F(CgroupTest, TheSmallestMemoryLimitOnTheWayToTheRootCounts) {
  Write("pods/memory.max", "4294967296\n");
  Write("pods/voxloc/memory.max", "8589934592\n");
  EXPECT_EQ(CgroupMemoryLimit(Member("0::/pods/voxloc\n")), uint64_t{4} << 30U);
  Write("pods/voxloc/memory.max", "max\n");
  EXPECT_EQ(CgroupMemoryLimit(Member("0::/pods/voxloc\n")), uint64_t{4} << 30U);
  Write("pods/voxloc/memory.max", "1073741824\n");
  EXPECT_EQ(CgroupMemoryLimit(Member("0::/pods/voxloc\n")), uint64_t{1} << 30U);
  // In a namespace of its own the process sees its group as the root.
  Write("memory.max", "536870912\n");
  EXPECT_EQ(CgroupMemoryLimit(Member("0::/\n")), uint64_t{1} << 29U);
  // Without one, a container may see its path on the host and mount its own group as the root.
  EXPECT_EQ(CgroupMemoryLimit(Member("0::/not/mounted\n")), uint64_t{1} << 29U);
}

TEST_F(CgroupTest, WhatIsLeftIsTheSmallestDifference) {
  Write("pods/memory.max", "1000\n");
  Write("pods/memory.current", "900\n");
  Write("pods/voxloc/memory.max", "500\n");
  Write("pods/voxloc/memory.current", "300\n");
  EXPECT_EQ(CgroupMemoryAvailable(Member("0::/pods/voxloc\n")), 100U);
  // Usage may be over a limit that was lowered.
  Write("pods/memory.current", "1200\n");
  EXPECT_EQ(CgroupMemoryAvailable(Member("0::/pods/voxloc\n")), 0U);
}

TEST_F(CgroupTest, ControllersOfVersionOneCountInTheirHierarchies) {
  const std::string membership = "9:memory:/docker/a\n4:cpu,cpuacct:/docker/a\n1:name=systemd:/\n";
  Write("memory/docker/a/memory.limit_in_bytes", "2147483648\n");
  Write("memory/memory.limit_in_bytes", "9223372036854771712\n");  // no limit
  Write("memory/docker/a/memory.usage_in_bytes", "2147483547\n");
  Write("cpu,cpuacct/docker/a/cpu.cfs_quota_us", "50000\n");
  Write("cpu,cpuacct/docker/a/cpu.cfs_period_us", "100000\n");
  Write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(CgroupMemoryLimit(Member(membership)), uint64_t{2} << 30U);
  EXPECT_EQ(CgroupMemoryAvailable(Member(membership)), 101U);
  EXPECT_EQ(CgroupCpuQuota(Member(membership)), 0.5);
}

TEST_F(CgroupTest, WhatIsNoLimitIsIgnored) {
  for (const char* text : {"", "\n", "max", "-1", "many"}) {
    Write("memory.max", text);
    EXPECT_EQ(CgroupMemoryLimit(Member("0::/\n")), std::nullopt) << text;
  }
  EXPECT_EQ(CgroupMemoryLimit({scratch_.Path("missing"), scratch_.Path("cgroup")}), std::nullopt);
  for (const char* membership : {"", "0\n", "0:/\n", ":::\n"}) {
    EXPECT_EQ(CgroupMemoryLimit(Member(membership)), std::nullopt) << membership;
  }
}

TEST_F(CgroupTest, TheSmallerOfMachineAndGroupIsUsable) {
  uint64_t kib = 0;
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  ASSERT_TRUE(meminfo >> name >> kib);
  ASSERT_EQ(name, "MemTotal:");
  EXPECT_EQ(PhysicalMemoryBytes(), kib << 10U);
  Write("memory.max", "67108864\n");
  Write("memory.current", "67108800\n");
  EXPECT_EQ(UsableMemoryBytes(Member("0::/\n")), uint64_t{1} << 26U);
  EXPECT_EQ(AvailableMemoryBytes(Member("0::/\n")), 64U);
  Write("memory.max", "max\n");
  EXPECT_EQ(UsableMemoryBytes(Member("0::/\n")), PhysicalMemoryBytes());
  EXPECT_GT(AvailableMemoryBytes(Member("0::/\n")), 0U);
  EXPECT_LE(AvailableMemoryBytes(Member("0::/\n")), PhysicalMemoryBytes());
}

}  // namespace
}  // namespace voxloc
