// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/sigma_shares.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace voxloc::cli {
namespace {

// Of all shares together, along an axis.
double SigmaAlong(const SigmaShares& shares, size_t axis) {
  double variance = 0.0;
  for (const auto& share : shares) variance += share[axis] * share[axis];
  return std::sqrt(variance);
}

bool IsEmpty(const SigmaShares& shares) { return shares == SigmaShares{}; }

}  // namespace

SigmaShares SharesOf(const v1::AlignmentResult& result) {
  const v1::SigmaShares& proto = result.covariance_report().sigma_shares();
  SigmaShares shares{};
  size_t next = 0;
  for (const auto* sigmas :
       {&proto.scan(), &proto.map_and_mounting(), &proto.time(), &proto.sweep()}) {
    if (sigmas->size() == 6) std::copy(sigmas->begin(), sigmas->end(), shares[next].begin());
    ++next;
  }
  return shares;
}

size_t LeastCertainAxis(const SigmaShares& shares) {
  size_t least = 0;
  for (size_t axis = 1; axis < 3; ++axis) {
    if (SigmaAlong(shares, axis) > SigmaAlong(shares, least)) least = axis;
  }
  return least;
}

Json SigmaSharesJson(const SigmaShares& shares) {
  if (IsEmpty(shares)) return nullptr;
  Json json = Json::object();
  for (size_t i = 0; i < kSigmaShares; ++i) json[kSigmaShareKeys[i]] = shares[i];
  return json;
}

std::string SigmaSharesText(const SigmaShares& shares) {
  if (IsEmpty(shares)) return "";
  const size_t axis = LeastCertainAxis(shares);
  std::vector<std::string> parts;
  for (size_t i = 0; i < kSigmaShares; ++i) {
    parts.push_back(absl::StrFormat("%s %.3f", kSigmaShareNames[i], shares[i][axis]));
  }
  return absl::StrFormat("along the base's %c %.3f m: %s", "xyz"[axis], SigmaAlong(shares, axis),
                         absl::StrJoin(parts, ", "));
}

}  // namespace voxloc::cli
