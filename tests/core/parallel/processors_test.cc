// SPDX-License-Identifier: Apache-2.0

#include "core/parallel/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

#include "core/engine/cpu/cpu_engine.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

// A tree of control groups as the kernel shows it.
class ProcessorsTest : public ::testing::Test {
 protected:
  std::optional<size_t> Processors(const std::string& membership) {
    return CgroupProcessors({scratch_.Write("self_cgroup", membership), scratch_.Path("cgroup")});
  }
  void Quota(const std::string& group, const std::string& text) {
    scratch_.Write("cgroup" + group + "/cpu.max", text);
  }
  const ScratchDir scratch_;
};

TEST_F(ProcessorsTest, TheQuotaIsRoundedUpToWholeProcessors) {
  Quota("", "200000 100000\n");
  EXPECT_EQ(Processors("0::/\n"), 2u);
  Quota("", "250000 100000\n");
  EXPECT_EQ(Processors("0::/\n"), 3u);
  Quota("", "1000 100000\n");
  EXPECT_EQ(Processors("0::/\n"), 1u);
  Quota("", "50000 10000\n");
  EXPECT_EQ(Processors("0::/\n"), 5u);
}

TEST_F(ProcessorsTest, TheTightestQuotaOnTheWayToTheRootCounts) {
  Quota("/pods", "300000 100000\n");
  Quota("/pods/voxloc", "600000 100000\n");
  EXPECT_EQ(Processors("0::/pods/voxloc\n"), 3u);
  Quota("/pods/voxloc", "100000 100000\n");
  EXPECT_EQ(Processors("0::/pods/voxloc\n"), 1u);
  Quota("/pods/voxloc", "max 100000\n");
  EXPECT_EQ(Processors("0::/pods/voxloc\n"), 3u);
}

TEST_F(ProcessorsTest, VersionOneGroupsBesideItAreSkipped) {
  Quota("/a", "400000 100000\n");
  EXPECT_EQ(Processors("12:cpu,cpuacct:/b\n1:name=systemd:/b\n0::/a\n"), 4u);
  EXPECT_EQ(Processors("12:cpu,cpuacct:/a\n"), std::nullopt);
}

TEST_F(ProcessorsTest, WithoutAQuotaThereIsNoLimit) {
  EXPECT_EQ(Processors("0::/\n"), std::nullopt);
  for (const char* text :
       {"max 100000\n", "", "\n", "0 100000", "100000", "100000 0", "-1 100000", "many 100000"}) {
    Quota("", text);
    EXPECT_EQ(Processors("0::/\n"), std::nullopt) << text;
  }
  EXPECT_EQ(CgroupProcessors({scratch_.Path("missing"), scratch_.Path("cgroup")}), std::nullopt);
}

TEST_F(ProcessorsTest, TheAffinityMaskOfTheThreadCounts) {
  std::thread([] {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    EXPECT_EQ(AffinityProcessors(), static_cast<size_t>(CPU_COUNT(&allowed)));
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(AffinityProcessors(), 1u);
    EXPECT_EQ(UsableProcessors(), 1u);
    EXPECT_EQ(MakeCpuEngine()->Info().threads, 1u);
  }).join();
}

TEST_F(ProcessorsTest, TheSmallerOfQuotaAndAffinityIsUsable) {
  Quota("", "100000 100000\n");
  const CgroupFiles files{scratch_.Write("self_cgroup", "0::/\n"), scratch_.Path("cgroup")};
  EXPECT_EQ(UsableProcessors(files), 1u);
  Quota("", "100000000000 100000\n");
  EXPECT_EQ(UsableProcessors(files), AffinityProcessors());
}

}  // namespace
}  // namespace voxloc
