// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "server/localization/search_work.h"

namespace voxloc::server {
namespace {

TEST(ProgressOutbox, KeepsTheNewestProgressAndEveryParticle) {
  ProgressOutbox outbox;
  EXPECT_TRUE(outbox.empty());
  uint32_t next = 0;
  for (int round = 1; round <= 5; ++round) {
    v1::SearchProgress progress;
    progress.set_fraction(0.1 * round);
    for (int i = 0; i < 99; ++i) progress.add_particles()->set_index(next++);
    outbox.Put(std::move(progress));
  }
  uint32_t told = 0;
  int messages = 0;
  while (!outbox.empty()) {
    const v1::SearchProgress message = outbox.Take();
    EXPECT_EQ(message.fraction(), 0.5);
    EXPECT_LE(static_cast<size_t>(message.particles_size()), ProgressOutbox::kParticlesPerMessage);
    for (const v1::SearchParticle& particle : message.particles()) {
      EXPECT_EQ(particle.index(), told++);
    }
    ++messages;
  }
  EXPECT_EQ(told, next);
  EXPECT_EQ(messages, 3);
  outbox.Put(v1::SearchProgress());
  EXPECT_FALSE(outbox.empty()) << "progress without particles is told as well";
  static_cast<void>(outbox.Take());
  EXPECT_TRUE(outbox.empty());
}

}  // namespace
}  // namespace voxloc::server
