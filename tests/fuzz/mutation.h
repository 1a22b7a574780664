// SPDX-License-Identifier: Apache-2.0
//
// Mutations of valid bytes: changed, flipped, cut, doubled, put in. The same generator state gives
// the same mutation.

#ifndef VOXLOC_TESTS_FUZZ_MUTATION_H_
#define VOXLOC_TESTS_FUZZ_MUTATION_H_

#include <cstddef>
#include <random>
#include <string>

#include "absl/strings/string_view.h"

namespace voxloc {

// One to four changes, each of a single byte or bit, of up to eight bytes, or of all that follows.
inline std::string Mutate(std::string bytes, std::mt19937_64& random) {
  // What means something in the text formats and in the binary ones, and in neither.
  constexpr absl::string_view kFill("0-9 \n\0\x01\x7f\xff", 9);
  const size_t changes = 1 + random() % 4;
  for (size_t change = 0; change < changes && !bytes.empty(); ++change) {
    const size_t at = random() % bytes.size();
    const size_t length = 1 + random() % 8;
    switch (random() % 7) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(at, bytes.substr(random() % bytes.size(), length));
        break;
      case 5:
        bytes.insert(at, std::to_string(random() >> random() % 64));
        break;
      default:
        bytes.replace(at, length, std::string(length, kFill[random() % kFill.size()]));
        break;
    }
  }
  return bytes;
}

}  // namespace voxloc

#endif  // VOXLOC_TESTS_FUZZ_MUTATION_H_
