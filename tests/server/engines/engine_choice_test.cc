// SPDX-License-Identifier: Apache-2.0

#include "server/engines/engine_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "tests/server/engines/fake_gpu.h"

namespace voxloc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A machine with fake GPUs.
class EngineChoiceTest : public ::testing::Test {
 protected:
  EngineChoiceTest() {
    source_.make_cpu = [] { return MakeCpuEngine({1}); };
    source_.count_gpus = [this](std::string* no_gpu_reason) {
      if (devices_ == 0) *no_gpu_reason = "no driver";
      return devices_;
    };
    source_.make_gpu = [this](uint32_t device) -> absl::StatusOr<std::unique_ptr<Engine>> {
      made_.push_back(device);
      if (auto refusal = refusals_.find(device); refusal != refusals_.end()) {
        return refusal->second;
      }
      auto faults = std::make_shared<GpuFaults>();
      faults->wrong = wrong_.count(device) > 0;
      return std::make_unique<FakeGpu>(faults);
    };
    source_.make_replicated = [this](std::vector<std::unique_ptr<Engine>> engines) {
      united_ = engines.size();
      return absl::StatusOr<std::unique_ptr<Engine>>(std::move(engines.front()));
    };
  }

  absl::StatusOr<EngineChoice> Choose(const std::string& engine,
                                      std::vector<uint32_t> devices = {0}) {
    Config config;
    config.engine = engine;
    config.devices = std::move(devices);
    return ChooseEngine(config, source_);
  }

  static std::string NameOf(const absl::StatusOr<EngineChoice>& choice) {
    return choice.ok() ? choice->engine->Info().name : choice.status().ToString();
  }

  EngineSource source_;
  int devices_ = 1;
  std::map<uint32_t, bool> wrong_;
  std::map<uint32_t, absl::Status> refusals_;
  std::vector<uint32_t> made_;
  size_t united_ = 0;
};

TEST_F(EngineChoiceTest, TakesTheCpuWhereItIsAskedFor) {
  const auto choice = Choose("cpu", {9});
  EXPECT_EQ(NameOf(choice), "cpu");
  EXPECT_EQ(choice->note, "");
  EXPECT_EQ(choice->standby, nullptr);
  EXPECT_THAT(made_, IsEmpty());
}

TEST_F(EngineChoiceTest, TakesTheGpuThatPassesTheSelfTestWithTheCpuAsItsStandby) {
  for (const char* asked : {"auto", "cuda"}) {
    const auto choice = Choose(asked);
    EXPECT_EQ(NameOf(choice), "cuda") << asked;
    EXPECT_EQ(choice->note, "");
    ASSERT_NE(choice->standby, nullptr);
    EXPECT_EQ(choice->standby->Info().name, "cpu");
  }
  EXPECT_EQ(united_, 0);
  devices_ = 4;
  made_.clear();
  EXPECT_EQ(NameOf(Choose("cuda", {3, 1})), "cuda");
  EXPECT_THAT(made_, ElementsAre(3, 1));
  EXPECT_EQ(united_, 2);
}

TEST_F(EngineChoiceTest, ServesOnTheCpuWhereTheGpuFailsTheSelfTest) {
  wrong_[0] = true;
  for (const char* asked : {"auto", "cuda"}) {
    const auto choice = Choose(asked);
    EXPECT_EQ(NameOf(choice), "cpu") << asked;
    EXPECT_THAT(choice->note, HasSubstr("GPU 0 failed the self-test: align, profile autoware"));
    EXPECT_THAT(choice->note, HasSubstr("position is "));
  }
}

TEST_F(EngineChoiceTest, SaysWhyThereIsNoGpu) {
  devices_ = 0;
  for (const char* why : {"no driver", "this build has no CUDA engine"}) {
    EXPECT_EQ(NameOf(Choose("auto")), "cpu");
    EXPECT_EQ(Choose("auto")->note, "");
    EXPECT_EQ(Choose("cuda").status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(NameOf(Choose("cuda")), HasSubstr(why));
    source_.count_gpus = nullptr;
  }
}

TEST_F(EngineChoiceTest, RefusesDevicesThatAreNotThere) {
  devices_ = 2;
  for (const char* asked : {"auto", "cuda"}) {
    const auto choice = Choose(asked, {0, 2});
    EXPECT_EQ(choice.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(NameOf(choice), HasSubstr("devices must be from 0 to 1 (got '0,2')"));
  }
  EXPECT_THAT(made_, IsEmpty());
}

TEST_F(EngineChoiceTest, LeavesOutTheGpuThatFailsAmongSeveral) {
  devices_ = 3;
  wrong_[1] = true;
  const auto choice = Choose("auto", {0, 1, 2});
  EXPECT_EQ(NameOf(choice), "cuda");
  EXPECT_EQ(united_, 2);
  EXPECT_THAT(choice->devices, ElementsAre(0, 2));
  EXPECT_THAT(choice->note, HasSubstr("GPU 1 failed the self-test"));
}

TEST_F(EngineChoiceTest, AGpuThatDoesNotStartIsAnErrorOnlyWhereOneIsAskedFor) {
  refusals_[0] = absl::FailedPreconditionError("compute capability 6.1 has no code in this build");
  EXPECT_EQ(Choose("cuda").status(), refusals_[0]);
  const auto choice = Choose("auto");
  EXPECT_EQ(NameOf(choice), "cpu");
  EXPECT_THAT(choice->note, HasSubstr("GPU 0 does not start: compute capability 6.1"));
}

}  // namespace
}  // namespace voxloc::server
