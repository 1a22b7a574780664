// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "core/tracking/scan_gate.h"

namespace voxloc {
namespace {

TEST(DiagnosticsTest, TheWorstLevelHoldsAndAllTextsAreJoined) {
  Diagnostics diagnostics;
  diagnostics.Warn("late");
  EXPECT_EQ(diagnostics.level(), DiagnosticLevel::kWarn);
  EXPECT_EQ(diagnostics.message(), "late");
  diagnostics.Error("no transform");
  EXPECT_EQ(diagnostics.level(), DiagnosticLevel::kError);
  diagnostics.Warn("slow");
  EXPECT_EQ(diagnostics.level(), DiagnosticLevel::kError);
  EXPECT_EQ(diagnostics.message(), "late; no transform; slow");
}

TEST(DiagnosticsTest, AKeySetTwiceTakesTheNewValueInItsOldPlace) {
  Diagnostics diagnostics;
  diagnostics.SetInt("first", 1);
  diagnostics.SetInt("second", 2);
  diagnostics.SetDouble("first", 3.5);
  ASSERT_EQ(diagnostics.entries().size(), 2u);
  EXPECT_EQ(diagnostics.entries()[0].key, "first");
  EXPECT_EQ(std::get<double>(diagnostics.entries()[0].value), 3.5);
}

}  // namespace
}  // namespace voxloc
