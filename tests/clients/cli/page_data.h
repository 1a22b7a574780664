// SPDX-License-Identifier: Apache-2.0
//
// What a page of clients/cli/report has embedded, read without the code under test.

#ifndef VOXLOC_TESTS_CLIENTS_CLI_PAGE_DATA_H_
#define VOXLOC_TESTS_CLIENTS_CLI_PAGE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "absl/strings/escaping.h"

namespace voxloc::cli {

inline std::string EmbeddedData(const std::string& html) {
  const std::string open = R"(<script id="voxloc-data" type="application/json">)";
  const size_t start = html.find(open) + open.size();
  return html.substr(start, html.find("</script>", start) - start);
}

inline std::string FileText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Packed numbers of 16 bits, little endian.
inline std::string PackedBytes(const nlohmann::json& packed) {
  std::string bytes;
  absl::Base64Unescape(packed["base64"].get<std::string>(), &bytes);
  return bytes;
}
inline int16_t PackedInt16(const std::string& bytes, size_t i) {
  return static_cast<int16_t>(static_cast<unsigned char>(bytes[2 * i]) |
                              static_cast<unsigned char>(bytes[2 * i + 1]) << 8);
}

}  // namespace voxloc::cli

#endif  // VOXLOC_TESTS_CLIENTS_CLI_PAGE_DATA_H_
