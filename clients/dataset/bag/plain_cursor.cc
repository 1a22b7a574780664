// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/plain_cursor.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/dataset/bag/decompress.h"

namespace voxloc::bag {
namespace {

class DecompressingCursor : public Cursor {
 public:
  DecompressingCursor(const BagContents& contents, std::unique_ptr<Cursor> cursor)
      : contents_(contents), cursor_(std::move(cursor)) {}

 private:
  absl::StatusOr<bool> Fetch(Message* message) override {
    const absl::StatusOr<bool> more = cursor_->Next(message);
    if (!more.ok() || !*more) return more;
    const Topic& topic = contents_.topics[message->topic];
    // Messages of other encodings may begin with anything.
    if (topic.encoding != "cdr") return true;
    const std::optional<Compression> compression = FrameCompressionOf(message->bytes);
    if (!compression.has_value()) return true;
    absl::StatusOr<std::string> plain = DecompressFrame(*compression, message->bytes);
    if (!plain.ok()) {
      return absl::Status(plain.status().code(), absl::StrCat("a message of ", topic.name, ": ",
                                                              plain.status().message()));
    }
    plain_ = *std::move(plain);
    message->bytes = plain_;
    return true;
  }

  const BagContents& contents_;
  const std::unique_ptr<Cursor> cursor_;
  std::string plain_;
};

}  // namespace

std::unique_ptr<Cursor> PlainCursor(const BagContents& contents, std::unique_ptr<Cursor> cursor) {
  return std::make_unique<DecompressingCursor>(contents, std::move(cursor));
}

}  // namespace voxloc::bag
