// SPDX-License-Identifier: Apache-2.0
//
// The corpus of a fuzz target: the files of a folder.

#ifndef VOXLOC_TESTS_FUZZ_CORPUS_H_
#define VOXLOC_TESTS_FUZZ_CORPUS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace voxloc {

struct FuzzSeed {
  std::string name;
  std::string bytes;
  bool valid = false;  // its name begins with "valid-": the target accepts it
};

// In the order of their names. A file NAME.textproto whose first line is
// "# proto-message: voxloc.v1.TYPE" is a message in protobuf's text format and stands for its bytes
// on the wire; NAME.hex stands for the bytes that its hexadecimal digits write, in which white
// space and what follows a # are passed over; any other file stands for itself. A file that cannot
// be read so is an error with its name, and so is a folder that is not there.
[[nodiscard]] absl::StatusOr<std::vector<FuzzSeed>> ReadCorpus(const std::string& folder);

}  // namespace voxloc

#endif  // VOXLOC_TESTS_FUZZ_CORPUS_H_
