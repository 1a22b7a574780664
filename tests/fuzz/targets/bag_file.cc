// SPDX-License-Identifier: Apache-2.0
//
// Recordings: MCAP, ROS 1 bags and rosbag2's SQLite, through all that a drive reads of them.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/messages.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {
namespace {

// SQLite takes no file without a name.
class NamedFile {
 public:
  explicit NamedFile(absl::string_view bytes) {
    path_ = "/dev/shm/voxloc_fuzz_XXXXXX";
    const int descriptor = ::mkstemp(path_.data());
    FuzzRequire(descriptor >= 0, "a file can be made");
    const auto written = ::write(descriptor, bytes.data(), bytes.size());
    FuzzRequire(written == static_cast<ssize_t>(bytes.size()), "a file takes the bytes");
    ::close(descriptor);
  }
  NamedFile(const NamedFile&) = delete;
  NamedFile& operator=(const NamedFile&) = delete;
  ~NamedFile() { ::unlink(path_.c_str()); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void Decode(const bag::Topic& topic, absl::string_view bytes) {
  switch (bag::KindOf(topic)) {
    case bag::MessageKind::kPointCloud2: {
      bag::CloudMessage cloud;
      if (!bag::DecodePointCloud2(topic, bytes, &cloud).ok()) return;
      FuzzRequire(cloud.view.data.size() <= bytes.size(), "a cloud's bytes are the message's");
      return;
    }
    case bag::MessageKind::kTransforms:
      bag::DecodeTransforms(topic, bytes).status().IgnoreError();
      return;
    case bag::MessageKind::kOther:
      return;
    default:
      bag::DecodePose(topic, bytes).status().IgnoreError();
  }
}

}  // namespace

absl::Status FuzzBagFile(absl::string_view bytes) {
  const NamedFile file(bytes);
  const auto opened = bag::OpenBag({file.path()});
  if (!opened.ok()) return opened.status();
  const bag::BagContents& contents = (*opened)->contents();
  std::vector<size_t> all;
  for (size_t i = 0; i < contents.topics.size(); ++i) all.push_back(i);
  const auto cursor = (*opened)->Read(all);
  if (!cursor.ok()) return cursor.status();
  bag::Message message;
  while (true) {
    const absl::StatusOr<bool> more = (*cursor)->Next(&message);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
    FuzzRequire(message.topic < contents.topics.size(), "a message has a topic");
    Decode(contents.topics[message.topic], message.bytes);
  }
}

}  // namespace voxloc
