// SPDX-License-Identifier: Apache-2.0
//
// How sure a result is, for people: standard deviations, confidence, what the scan does not
// observe.

#ifndef VOXLOC_CLIENTS_CLI_ESTIMATE_TEXT_H_
#define VOXLOC_CLIENTS_CLI_ESTIMATE_TEXT_H_

#include <string>
#include <vector>

#include "clients/cli/json_output.h"
#include "voxloc/v1/alignment.pb.h"

namespace voxloc::cli {

// Axes, of x y z rx ry rz, that the scan says nothing about.
[[nodiscard]] std::vector<std::string> UnobservedAxes(const v1::AlignmentResult& result);

// Of them those that it says little about.
[[nodiscard]] std::vector<std::string> WeakAxes(const v1::AlignmentResult& result);

// The direction that the scan observes least, where it does not observe some axis well: x y z rx ry
// rz, a unit vector in which a radian counts as Degeneracy.rotation_scale_m; otherwise null.
[[nodiscard]] Json LeastObservedJson(const v1::AlignmentResult& result);

// "x 0.012  y 0.010  z 0.021 m   rx 0.05  ry 0.04  rz 0.03 deg"; empty without a covariance.
[[nodiscard]] std::string SigmaText(const v1::AlignmentResult& result);

// The levels of a result, null where it has none; a level without a bound is null too. `pose` is
// the one that the levels are about; null: not known.
[[nodiscard]] Json ProtectionJson(const v1::AlignmentResult& result);

// "confidence 0.93   all axes observed"; empty where nothing is known.
[[nodiscard]] std::string TrustText(const v1::AlignmentResult& result);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_ESTIMATE_TEXT_H_
