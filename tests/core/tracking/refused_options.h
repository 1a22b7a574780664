// SPDX-License-Identifier: Apache-2.0

#ifndef VOXLOC_TESTS_CORE_TRACKING_REFUSED_OPTIONS_H_
#define VOXLOC_TESTS_CORE_TRACKING_REFUSED_OPTIONS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace voxloc {

// What makes good options bad, and part of what is said of it.
template <typename Options>
struct BadOption {
  std::function<void(Options&)> spoil;
  std::string text;
};

template <typename Options>
void ExpectRefused(absl::Status (*validate)(const Options&),
                   const std::vector<BadOption<Options>>& rows, const Options& good = {}) {
  EXPECT_TRUE(validate(good).ok()) << validate(good);
  for (const auto& row : rows) {
    Options options = good;
    row.spoil(options);
    const absl::Status status = validate(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.text;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(row.text));
  }
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_CORE_TRACKING_REFUSED_OPTIONS_H_
