// SPDX-License-Identifier: Apache-2.0
//
// Which share of a result's standard deviation comes from where: the contract's SigmaShares, for
// people and for scripts.

#ifndef VOXLOC_CLIENTS_CLI_SIGMA_SHARES_H_
#define VOXLOC_CLIENTS_CLI_SIGMA_SHARES_H_

#include <array>
#include <cstddef>
#include <string>

#include "clients/cli/json_output.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::cli {

constexpr size_t kSigmaShares = 4;

// In the order of the contract's fields: their names there, and for people.
constexpr std::array<const char*, kSigmaShares> kSigmaShareKeys = {"scan", "map_and_mounting",
                                                                   "time", "sweep"};
constexpr std::array<const char*, kSigmaShares> kSigmaShareNames = {
    "scan", "map and mounting", "time of the stamps", "motion in the sweep"};

// Standard deviations of each share along and about the base's axes x y z rx ry rz, metres and
// radians.
using SigmaShares = std::array<std::array<double, 6>, kSigmaShares>;

// All zeros without a covariance of the method CALIBRATED.
[[nodiscard]] SigmaShares SharesOf(const v1::AlignmentResult& result);

// Of x, y and z the axis along which the shares are largest together.
[[nodiscard]] size_t LeastCertainAxis(const SigmaShares& shares);

// An object with a list of six a share; null where all are zero.
[[nodiscard]] Json SigmaSharesJson(const SigmaShares& shares);

// "along the base's x 0.205 m: scan 0.004, map and mounting 0.040, time of the stamps 0.200,
// motion in the sweep 0.020", of the least certain axis; empty where all are zero.
[[nodiscard]] std::string SigmaSharesText(const SigmaShares& shares);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_SIGMA_SHARES_H_
