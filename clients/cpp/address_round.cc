// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/address_round.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/cpp/error_details.h"

namespace voxloc::client {

AddressRound::AddressRound(const Channel& channel)
    : impl_(&channel.impl()), begin_(channel.impl().first) {}

bool AddressRound::Next(absl::Status refusal) {
  refusals_.push_back(std::move(refusal));
  return refusals_.size() < impl_->endpoints.size();
}

absl::Status AddressRound::Refusal() const {
  if (refusals_.empty()) return absl::OkStatus();
  const absl::Status* telling = &refusals_.back();
  for (const absl::Status& refusal : refusals_) {
    if (refusal.code() != absl::StatusCode::kUnavailable) telling = &refusal;
  }
  std::string message(telling->message());
  for (const absl::Status& refusal : refusals_) {
    if (&refusal != telling) absl::StrAppend(&message, "; ", refusal.message());
  }
  absl::Status result(telling->code(), message);
  telling->ForEachPayload([&result](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

double AddressRound::RetryAfter_s() const {
  double least_s = refusals_.empty() ? 0.0 : RetryAfterS(refusals_.front()).value_or(0.0);
  for (const absl::Status& refusal : refusals_) {
    least_s = std::min(least_s, RetryAfterS(refusal).value_or(0.0));
  }
  return least_s;
}

}  // namespace voxloc::client
