// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/corpus.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace voxloc {
namespace {

absl::StatusOr<std::string> WireBytes(const std::string& text) {
  absl::string_view type = absl::string_view(text).substr(0, text.find('\n'));
  if (!absl::ConsumePrefix(&type, "# proto-message: ")) {
    return absl::InvalidArgumentError("the first line must be '# proto-message: TYPE'");
  }
  const google::protobuf::Descriptor* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(std::string(type));
  if (descriptor == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("no message type ", type));
  }
  const std::unique_ptr<google::protobuf::Message> message(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
  if (!google::protobuf::TextFormat::ParseFromString(text, message.get())) {
    return absl::InvalidArgumentError(absl::StrCat("not the text of a ", type));
  }
  return message->SerializeAsString();
}

absl::StatusOr<std::string> HexBytes(const std::string& text) {
  std::string digits;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    for (const char c : line.substr(0, line.find('#'))) {
      if (absl::ascii_isxdigit(static_cast<unsigned char>(c))) {
        digits += c;
      } else if (!absl::ascii_isspace(static_cast<unsigned char>(c))) {
        return absl::InvalidArgumentError("not hexadecimal digits");
      }
    }
  }
  if (digits.size() % 2 != 0) return absl::InvalidArgumentError("an odd number of digits");
  return absl::HexStringToBytes(digits);
}

absl::StatusOr<std::string> SeedBytes(const std::string& name, std::string content) {
  if (absl::EndsWith(name, ".textproto")) return WireBytes(content);
  if (absl::EndsWith(name, ".hex")) return HexBytes(content);
  return content;
}

}  // namespace

absl::StatusOr<std::vector<FuzzSeed>> ReadCorpus(const std::string& folder) {
  std::vector<FuzzSeed> seeds;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    FuzzSeed seed;
    seed.name = at->path().filename().string();
    std::ifstream file(at->path(), std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file) return absl::UnavailableError(absl::StrCat(at->path().string(), ": cannot be read"));
    auto bytes = SeedBytes(seed.name, std::move(content));
    if (!bytes.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(at->path().string(), ": ", bytes.status().message()));
    }
    seed.bytes = *std::move(bytes);
    seed.valid = absl::StartsWith(seed.name, "valid-");
    seeds.push_back(std::move(seed));
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder, ": ", error.message()));
  std::sort(seeds.begin(), seeds.end(),
            [](const FuzzSeed& a, const FuzzSeed& b) { return a.name < b.name; });
  return seeds;
}

}  // namespace voxloc
