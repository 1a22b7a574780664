// SPDX-License-Identifier: Apache-2.0
//
// CellsFile: cells of a map in a file, written one by one, so that memory does not grow with the
// map. Not thread-safe.
//
//   .csv  a row a cell under a head that names the columns
//   .ply  binary, little-endian: a vertex a cell, at the mean of its points
//
// Both have, in this order: x y z (mean, metres), points, xx xy xz yy yz zz (covariance, m^2),
// stage and cell_size_m; the CSV also the index of the cell, ix iy iz.

#ifndef VOXLOC_CLIENTS_CLI_MAP_CELLS_FILE_H_
#define VOXLOC_CLIENTS_CLI_MAP_CELLS_FILE_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/map/map_cells.h"

namespace voxloc::cli {

class CellsFile {
 public:
  // Empty: the file's name has the extension of a format.
  [[nodiscard]] static std::string ExtensionError(const std::string& path);

  // The error names the file and the system's reason.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<CellsFile>> Create(const std::string& path);

  // Removes the file, unless Close has succeeded.
  ~CellsFile();
  CellsFile(const CellsFile&) = delete;
  CellsFile& operator=(const CellsFile&) = delete;

  [[nodiscard]] absl::Status Add(uint32_t stage, double cell_size_m, const MapCell& cell);

  // To be called once, and nothing after it.
  [[nodiscard]] absl::Status Close();

 private:
  CellsFile(std::string path, std::FILE* file, bool is_ply);

  [[nodiscard]] absl::Status Put(absl::string_view bytes);

  const std::string path_;
  std::FILE* file_;  // nullptr: closed
  const bool is_ply_;
  bool complete_ = false;
  uint64_t cells_ = 0;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_CELLS_FILE_H_
