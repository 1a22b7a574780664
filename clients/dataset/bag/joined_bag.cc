// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/joined_bag.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"

namespace voxloc::bag {
namespace {

// A file, and where its topics are in the list of all.
struct Part {
  std::unique_ptr<Bag> bag;
  std::vector<size_t> topics;
};

class JoinedCursor : public Cursor {
 public:
  JoinedCursor(const std::vector<Part>& parts, std::vector<size_t> wanted)
      : parts_(parts), wanted_(std::move(wanted)) {}

  absl::StatusOr<bool> Next(Message* message) override {
    while (true) {
      if (cursor_ == nullptr) {
        if (next_part_ == parts_.size()) return false;
        absl::StatusOr<std::unique_ptr<Cursor>> opened = Open(parts_[next_part_++]);
        if (!opened.ok()) return End(opened.status());
        cursor_ = *std::move(opened);
      }
      const absl::StatusOr<bool> more = cursor_->Next(message);
      if (!more.ok()) return End(more.status());
      if (*more) {
        message->topic = parts_[next_part_ - 1].topics[message->topic];
        return true;
      }
      cursor_ = nullptr;
    }
  }

 private:
  absl::StatusOr<std::unique_ptr<Cursor>> Open(const Part& part) const {
    std::vector<size_t> topics;
    for (size_t i = 0; i < part.topics.size(); ++i) {
      if (absl::c_linear_search(wanted_, part.topics[i])) topics.push_back(i);
    }
    return part.bag->Read(topics);
  }

  absl::Status End(const absl::Status& status) {
    cursor_ = nullptr;
    next_part_ = parts_.size();
    return status;
  }

  const std::vector<Part>& parts_;
  const std::vector<size_t> wanted_;
  size_t next_part_ = 0;
  std::unique_ptr<Cursor> cursor_;  // of the part before next_part_
};

class JoinedBag : public Bag {
 public:
  explicit JoinedBag(std::vector<std::unique_ptr<Bag>> bags) {
    contents_.format = bags.front()->contents().format;
    for (std::unique_ptr<Bag>& bag : bags) Add(std::move(bag));
  }

  const BagContents& contents() const override { return contents_; }

  absl::StatusOr<std::unique_ptr<Cursor>> Read(const std::vector<size_t>& topics) const override {
    return std::make_unique<JoinedCursor>(parts_, topics);
  }

 private:
  void Add(std::unique_ptr<Bag> bag) {
    const BagContents& contents = bag->contents();
    if (contents.messages() > 0) {
      const bool first = contents_.messages() == 0;
      contents_.first_ns =
          first ? contents.first_ns : std::min(contents_.first_ns, contents.first_ns);
      contents_.last_ns = first ? contents.last_ns : std::max(contents_.last_ns, contents.last_ns);
    }
    contents_.remarks.insert(contents_.remarks.end(), contents.remarks.begin(),
                             contents.remarks.end());
    Part part;
    for (const Topic& topic : contents.topics) {
      const auto same = absl::c_find_if(contents_.topics, [&](const Topic& known) {
        return known.name == topic.name && known.type == topic.type &&
               known.encoding == topic.encoding;
      });
      part.topics.push_back(static_cast<size_t>(same - contents_.topics.begin()));
      if (same == contents_.topics.end()) {
        contents_.topics.push_back(topic);
      } else {
        same->messages += topic.messages;
      }
    }
    part.bag = std::move(bag);
    parts_.push_back(std::move(part));
  }

  BagContents contents_;
  std::vector<Part> parts_;
};

}  // namespace

std::unique_ptr<Bag> JoinBags(std::vector<std::unique_ptr<Bag>> bags) {
  if (bags.size() == 1) return std::move(bags.front());
  absl::c_stable_sort(bags, [](const std::unique_ptr<Bag>& a, const std::unique_ptr<Bag>& b) {
    return a->contents().first_ns < b->contents().first_ns;
  });
  return std::make_unique<JoinedBag>(std::move(bags));
}

}  // namespace voxloc::bag
