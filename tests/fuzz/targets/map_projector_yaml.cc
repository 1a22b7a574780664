// SPDX-License-Identifier: Apache-2.0
//
// map_projector_info.yaml.

#include "clients/dataset/map_yaml.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/memory_file.h"

namespace voxloc {

absl::Status FuzzMapProjectorYaml(absl::string_view bytes) {
  const auto projector = ReadProjectorYaml(MemoryFile(bytes).path());
  if (!projector.ok()) return projector.status();
  const std::string text = ProjectorYamlText(*projector);
  const auto again = ReadProjectorYaml(MemoryFile(text).path());
  FuzzRequire(again.ok(), "what was written can be read");
  FuzzRequire(ProjectorYamlText(*again) == text, "what was written comes back");
  return absl::OkStatus();
}

}  // namespace voxloc
