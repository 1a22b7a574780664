// SPDX-License-Identifier: Apache-2.0

#include "server/scheduling/mailbox.h"

#include <gtest/gtest.h>

#include <optional>

namespace voxloc::server {
namespace {

TEST(MailboxTest, KeepsTheNewestInTheirOrder) {
  Mailbox<int> mailbox(2);
  EXPECT_EQ(mailbox.Put(1), std::nullopt);
  EXPECT_EQ(mailbox.Put(2), std::nullopt);
  EXPECT_TRUE(mailbox.full());
  EXPECT_EQ(mailbox.Put(3), std::optional<int>(1));
  EXPECT_EQ(mailbox.Take(), 2);
  EXPECT_EQ(mailbox.Take(), 3);
  EXPECT_TRUE(mailbox.empty());
}

TEST(MailboxTest, HoldsAtLeastOne) {
  Mailbox<int> mailbox(0);
  EXPECT_EQ(mailbox.Put(1), std::nullopt);
  EXPECT_EQ(mailbox.Put(2), std::optional<int>(1));
}

}  // namespace
}  // namespace voxloc::server
