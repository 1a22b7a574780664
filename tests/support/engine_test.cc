// SPDX-License-Identifier: Apache-2.0

#include "tests/support/engine_test.h"

#include "tests/support/forwarding_engine.h"

namespace voxloc {

void EngineTest::TearDown() { EXPECT_TRUE(engine().Health().ok()) << engine().Health(); }

std::unique_ptr<Engine> EngineTest::EngineHandle() {
  return std::make_unique<ForwardingEngine>(engine());
}

}  // namespace voxloc
