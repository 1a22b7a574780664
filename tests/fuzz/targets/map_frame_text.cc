// SPDX-License-Identifier: Apache-2.0
//
// The text by which the store remembers where a map lies, and the projection that follows from it.

#include <string>

#include "core/geodesy/map_frame.h"
#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {

absl::Status FuzzMapFrameText(absl::string_view bytes) {
  const auto frame = MapFrameFromText(std::string(bytes));
  if (!frame.ok()) return frame.status();
  const auto again = MapFrameFromText(ToText(*frame));
  FuzzRequire(again.ok() && *again == *frame, "a frame comes back from its text");
  const auto made = MakeMapFrame(*frame);
  if (!made.ok()) return made.status();
  const auto projection = MakeMapProjection(*made);
  if (!projection.ok()) return absl::OkStatus();
  for (const Eigen::Vector2d& xy : {Eigen::Vector2d(0.0, 0.0), Eigen::Vector2d(-1e7, 1e7)}) {
    const auto earth = (*projection)->ToEarth(xy);
    if (earth.ok()) (void)(*projection)->ToMap(*earth);
  }
  return absl::OkStatus();
}

}  // namespace voxloc
