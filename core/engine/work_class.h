// SPDX-License-Identifier: Apache-2.0
//
// WorkClass: what a call of an engine is for, which the caller knows and an engine cannot guess
// from its size. Results do not depend on it, only who waits for whom: a device takes up tracking
// before everything else, and the other classes in slices that tracking can come between.
//
// Tiles and maps are always mapping.

#ifndef VOXLOC_CORE_ENGINE_WORK_CLASS_H_
#define VOXLOC_CORE_ENGINE_WORK_CLASS_H_

namespace voxloc {

enum class WorkClass {
  kTracking,   // a scan whose vehicle waits for its pose, and the estimates that belong to it
  kSearching,  // candidates of a search for a pose
  kScoring,    // poses that a client asks about
  kMapping,    // building and composing
};

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_WORK_CLASS_H_
