// SPDX-License-Identifier: Apache-2.0
//
// Options on the wire, checked value by value. Thread-safe: no shared state.
//
// Errors: InvalidArgument names the field, its value and what is allowed.

#ifndef VOXLOC_SERVER_CONVERT_OPTIONS_H_
#define VOXLOC_SERVER_CONVERT_OPTIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/config/config.h"
#include "server/scan/scan_recipe.h"
#include "voxloc/v1/cloud.pb.h"
#include "voxloc/v1/options.pb.h"

namespace voxloc::server {

[[nodiscard]] absl::StatusOr<AlignOptions> AlignOptionsFromProto(
    const v1::AlignmentOptions& options, const std::string& default_profile, const Limits& limits);

[[nodiscard]] absl::StatusOr<ScanFilters> ScanFiltersFromProto(const v1::ScanFilter& filter);

[[nodiscard]] absl::StatusOr<OutputChoice> OutputFromProto(const v1::OutputOptions& output);

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_CONVERT_OPTIONS_H_
