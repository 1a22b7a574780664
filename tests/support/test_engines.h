// SPDX-License-Identifier: Apache-2.0
//
// The engines that suites run on. The only file of tests/support that knows all implementations;
// link voxloc_test_engines.
//
// The environment variable VOXLOC_TEST_ENGINES, a comma-separated list of "cpu" and "cuda", chooses
// among them; without it suites run on every engine that is found when they start. A program ends
// at once with an error where the variable names an engine that the build or the machine lacks.
// Where the build has the CUDA engine, nothing was chosen and no device is found, its instances are
// left out, and one test of each program is skipped with the reason.

#ifndef VOXLOC_TESTS_SUPPORT_TEST_ENGINES_H_
#define VOXLOC_TESTS_SUPPORT_TEST_ENGINES_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/engine/engine.h"

namespace voxloc {

// "cpu" and "cuda", those of them that suites are to run on.
[[nodiscard]] std::vector<std::string> TestEngineNames();

// The name of an instance, for INSTANTIATE_TEST_SUITE_P: the engine's.
[[nodiscard]] inline std::string NameByEngine(
    const ::testing::TestParamInfo<std::string>& instance) {
  return instance.param;
}

// Whether this machine can run the engine, chosen or not.
[[nodiscard]] bool HasEngine(const std::string& name);

// The process's engine of that name, made when it is first asked for: the CPU engine with two
// threads, or the CUDA engine on the first device. Ends the process where it cannot be made.
[[nodiscard]] Engine& TestEngine(const std::string& name);

// A map of the synthetic scene under AllStatistics(), once for each engine of the process.
[[nodiscard]] const std::shared_ptr<const ResidentMap>& TestEngineScene(const std::string& name);

// Another engine, for tests that end it or its memory: like TestEngine's, but their own.
[[nodiscard]] std::unique_ptr<Engine> NewTestEngine(const std::string& name);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_SUPPORT_TEST_ENGINES_H_
