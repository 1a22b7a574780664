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
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/map/map_cells.h"
#include "clients/cli/output/counted_file.h"

namespace voxloc::cli {

class CellsFile {
 public:
  // Empty: the file's name has the extension of a format.
  [[nodiscard]] static std::string ExtensionError(const std::string& path);

  // The error names the file and the system's reason.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<CellsFile>> Create(const std::string& path);

  [[nodiscard]] absl::Status Add(uint32_t stage, double cell_size_m, const MapCell& cell);

  // To be called once, and nothing after it. Without it, the file is removed.
  [[nodiscard]] absl::Status Close() { return file_->Close(); }

 private:
  CellsFile(std::unique_ptr<CountedFile> file, bool is_ply)
      : file_(std::move(file)), is_ply_(is_ply) {}

  const std::unique_ptr<CountedFile> file_;
  const bool is_ply_;
};

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_MAP_CELLS_FILE_H_
