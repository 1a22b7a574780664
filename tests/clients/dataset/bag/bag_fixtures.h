// SPDX-License-Identifier: Apache-2.0
//
// The recordings in data/, which other programs wrote; data/README.md says what is in them.

#ifndef VOXLOC_TESTS_CLIENTS_DATASET_BAG_BAG_FIXTURES_H_
#define VOXLOC_TESTS_CLIENTS_DATASET_BAG_BAG_FIXTURES_H_

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/dataset/bag/bag.h"

namespace voxloc::bag {

constexpr int64_t kBagStart_ns = 1'700'000'000'000'000'000;

inline std::string FixturePath(const std::string& name) {
  return absl::StrCat(VOXLOC_SOURCE_DIR, "/tests/clients/dataset/bag/data/", name);
}

inline std::string FileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct ReadMessage {
  std::string topic;
  int64_t recorded_ns = 0;
  std::string bytes;
};

// Of all topics, or of one. `status`: how reading ended.
inline std::vector<ReadMessage> ReadAll(const Bag& bag, absl::Status* status,
                                        const std::string& only = "") {
  std::vector<size_t> topics;
  for (size_t i = 0; i < bag.contents().topics.size(); ++i) {
    if (only.empty() || bag.contents().topics[i].name == only) topics.push_back(i);
  }
  std::vector<ReadMessage> messages;
  const auto cursor = bag.Read(topics);
  *status = cursor.status();
  Message message;
  while (status->ok()) {
    const absl::StatusOr<bool> more = (*cursor)->Next(&message);
    *status = more.status();
    if (!more.ok() || !*more) break;
    messages.push_back({bag.contents().topics[message.topic].name, message.recorded_ns,
                        std::string(message.bytes)});
  }
  return messages;
}

}  // namespace voxloc::bag

#endif  // VOXLOC_TESTS_CLIENTS_DATASET_BAG_BAG_FIXTURES_H_
