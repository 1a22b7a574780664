// SPDX-License-Identifier: Apache-2.0
//
// ScanRecipe: what a client wants done with its scans, checked and in the core's terms. A plain
// value, shared unchanged by the scans that it holds for.

#ifndef VOXLOC_SERVER_SCAN_RECIPE_H_
#define VOXLOC_SERVER_SCAN_RECIPE_H_

#include <optional>

#include "core/cloud/filters.h"
#include "core/engine/profile.h"
#include "core/geometry/pose.h"

namespace voxloc::server {

struct AlignOptions {
  Profile profile;                 // overrides applied, cell sizes its own
  double min_matched_ratio = 0.0;  // a result below it is LOW_OVERLAP
  bool regularize = true;          // where a scan brings a reference position
};

// What is kept of a scan: first by distance from the sensor, then in the base frame.
struct ScanFilters {
  std::optional<FilterOptions> sensor;
  std::optional<FilterOptions> base;
};

struct OutputChoice {
  bool trace = false;
  bool point_scores = false;
  bool aligned_cloud = false;
  bool hessian = false;
};

struct ScanRecipe {
  AlignOptions align;
  ScanFilters filters;
  OutputChoice output;
  std::optional<Pose> base_T_sensor;  // nullopt: the identity
};

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_SCAN_RECIPE_H_
