// SPDX-License-Identifier: Apache-2.0
//
// WorkClass: the purpose of an engine call, which determines its scheduling priority. Results do
// not depend on it. A device runs tracking first; it splits other work into slices, so that
// tracking can run between them.
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
