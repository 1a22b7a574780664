// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/bearer_token.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "clients/cpp/small_file.h"

namespace voxloc::client {
namespace {

// Half of the 8 KiB that gRPC takes as the metadata of a call; signed tokens of Kubernetes take 1
// to 2 KiB.
constexpr size_t kMaxTokenBytes = 4096;

// gRPC ends the process on metadata with other characters.
absl::Status Check(const std::string& token, const std::string& name) {
  if (token.empty()) return absl::InvalidArgumentError(absl::StrCat(name, " is empty"));
  if (token.size() > kMaxTokenBytes) {
    return absl::InvalidArgumentError(absl::StrCat(name, " must have at most ", kMaxTokenBytes,
                                                   " characters (got ", token.size(), ")"));
  }
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] <= ' ' || token[i] > '~') {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must be printable ASCII characters without spaces (character ",
                       i + 1, " of ", token.size(), " is not)"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadToken(const std::string& file) {
  // With room for white space around it, such as the end of a line.
  absl::StatusOr<std::string> text = ReadSmallFile(file, "token file", kMaxTokenBytes + 16);
  if (!text.ok()) return text.status();
  std::string token(absl::StripAsciiWhitespace(*text));
  if (absl::Status status = Check(token, absl::StrCat("the token in ", file)); !status.ok()) {
    return status;
  }
  return token;
}

}  // namespace

absl::StatusOr<BearerToken> BearerToken::Create(const std::string& token, const std::string& file) {
  BearerToken result;
  if (token.empty() && file.empty()) return result;
  if (!token.empty() && !file.empty()) {
    return absl::InvalidArgumentError("token and token_file must not both be set (got both)");
  }
  result.state_ = std::make_shared<State>();
  result.state_->file = file;
  if (file.empty()) {
    result.state_->last = std::string(absl::StripAsciiWhitespace(token));
    if (absl::Status status = Check(result.state_->last, "the token"); !status.ok()) return status;
    return result;
  }
  absl::StatusOr<std::string> read = ReadToken(file);
  if (!read.ok()) return read.status();
  result.state_->last = *std::move(read);
  return result;
}

std::string BearerToken::Value() const {
  if (state_ == nullptr) return {};
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (!state_->file.empty()) {
    // Every time: a few microseconds, and no change can go unnoticed.
    absl::StatusOr<std::string> read = ReadToken(state_->file);
    if (read.ok()) state_->last = *std::move(read);
  }
  return state_->last;
}

}  // namespace voxloc::client
