// SPDX-License-Identifier: Apache-2.0
//
// Whether bytes are UTF-8 text (RFC 3629).

#ifndef VOXLOC_CORE_TEXT_UTF8_H_
#define VOXLOC_CORE_TEXT_UTF8_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace voxloc {

// The number of leading bytes that form complete, valid characters; text.size() where all of the
// text is UTF-8. Overlong forms, surrogates and code points above U+10FFFF are not valid.
[[nodiscard]] size_t Utf8PrefixLength(absl::string_view text);

}  // namespace voxloc

#endif  // VOXLOC_CORE_TEXT_UTF8_H_
