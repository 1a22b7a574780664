// SPDX-License-Identifier: Apache-2.0
//
// Engine: the one interface to the arithmetic, whatever the device.
//
// An engine builds what it keeps of tiles and maps, aligns scans in batches and scores poses. All
// methods are thread-safe and block until done; results do not depend on what else runs, on the
// batch a job was in, on the class of work, or on the number of threads. Where memory runs out, on
// any thread, a method returns ResourceExhausted and the engine stays usable. Tiles and maps belong
// to the engine that made them and may outlive calls, not the engine.
//
// The public methods check requests and catch std::bad_alloc for all engines. An engine overrides
// the Do... methods that they call: DoBuildTile for BuildTile and so on.

#ifndef VOXLOC_CORE_ENGINE_ENGINE_H_
#define VOXLOC_CORE_ENGINE_ENGINE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/cloud/filters.h"
#include "core/cloud/point_cloud.h"
#include "core/engine/align.h"
#include "core/engine/bound.h"
#include "core/map/cells.h"

namespace voxloc {

struct EngineInfo {
  std::string name;    // "cpu" or "cuda"
  std::string device;  // for people: the processor's or the card's name, and how it is used
  size_t threads = 0;  // of a CPU engine
  // Of the device; 0: not limited by the engine. Of several that each hold all maps: the least.
  size_t memory_bytes_total = 0;
  size_t memory_bytes_free = 0;
  // Of an engine that spreads its work over several: each of them, and whether it can compute.
  // Empty: it is one.
  std::vector<EngineInfo> parts;
  bool healthy = true;  // of a part
};

class Engine {
 public:
  virtual ~Engine() = default;

  // What maps keep of a tile's points, on every lattice that `statistics` name. InvalidArgument:
  // see BuildTileMoments; ResourceExhausted: no memory.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const ResidentTile>> BuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics);

  // A map of these tiles, in this order; they must have been built with the same statistics.
  // Unchanged parts are shared with `previous`, which may be null. A map may have no cells.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const ResidentMap>> Compose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous);

  // What BuildTile made, as bytes that any engine's ImportTile takes (core/map/tile_codec.h).
  // InvalidArgument: a tile of another engine; ResourceExhausted: no memory.
  [[nodiscard]] absl::StatusOr<std::string> ExportTile(const ResidentTile& tile);

  // The tile that was exported: maps of it have the bits of maps of the original on this engine,
  // with the lattices that it was built with. DataLoss: damaged bytes; FailedPrecondition: bytes of
  // another version; ResourceExhausted: no memory.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const ResidentTile>> ImportTile(
      absl::string_view bytes);

  // Copies a tile of another engine of the same kind. The copy is bit-identical to one built here.
  // InvalidArgument: a tile of another kind of engine; ResourceExhausted: no memory; any other
  // error: build the tile here instead.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const ResidentTile>> CopyTile(
      const ResidentTile& tile);

  // Packs a job's scan and the clouds and groups of its passes, so that Align has less to do for
  // each job; results are the same with and without. The profile must be valid. Does not block;
  // call it from several threads. Null if packing gains nothing, or without memory. The result must
  // not outlive the engine, and is valid for all of its devices.
  [[nodiscard]] std::shared_ptr<const PackedJob> Pack(const AlignJob& job);

  // One result a job, in their order. A job that runs out of memory has the status
  // ResourceExhausted; std::bad_alloc is thrown only where there is no memory for the results
  // themselves.
  [[nodiscard]] std::vector<AlignResult> Align(absl::Span<const AlignJob> jobs);
  // The same in place: as many results as jobs, each as constructed.
  void Align(absl::Span<const AlignJob> jobs, absl::Span<AlignResult> results);

  // InvalidArgument: a scan without finite points, a pose that is not finite, a stage that
  // ValidateProfile refuses. FailedPrecondition: the map lacks the stage's cells. Cancelled,
  // DeadlineExceeded: the stop token.
  [[nodiscard]] absl::StatusOr<ScoreResult> Score(const ScoreRequest& request);

  // Prepares a raw scan: FilterCloud's result to the last bit, and its errors, wherever it is
  // computed.
  [[nodiscard]] absl::StatusOr<FilteredCloud> Filter(const PointCloud& cloud,
                                                     const FilterOptions& options,
                                                     WorkClass work_class);

  // A grid to bound the nodes of searches with. ResourceExhausted: no memory for it.
  [[nodiscard]] absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> LoadBoundGrid(
      BoundGrid grid);

  // The nodes with at least min_hits, ascending. InvalidArgument: see CheckRequest.
  // FailedPrecondition: a grid of another engine. Cancelled, DeadlineExceeded: the stop token.
  [[nodiscard]] absl::StatusOr<std::vector<BoundHit>> Bound(const BoundRequest& request);

  [[nodiscard]] virtual EngineInfo Info() const = 0;

  // Ok while the engine can compute. After a permanent failure, every valid request fails with this
  // status.
  [[nodiscard]] virtual absl::Status Health() const = 0;

 protected:
  // What an engine does for the public method of the same name. Requests have been checked.
  // std::bad_alloc and std::length_error may be thrown.
  virtual absl::StatusOr<std::shared_ptr<const ResidentTile>> DoBuildTile(
      const PointCloud& cloud_map, absl::Span<const CellStatistics> statistics) = 0;
  virtual absl::StatusOr<std::shared_ptr<const ResidentMap>> DoCompose(
      absl::Span<const std::shared_ptr<const ResidentTile>> tiles,
      absl::Span<const CellStatistics> statistics, const ResidentMap* previous) = 0;
  virtual absl::StatusOr<std::string> DoExportTile(const ResidentTile& tile) = 0;
  virtual absl::StatusOr<std::shared_ptr<const ResidentTile>> DoImportTile(
      absl::string_view bytes) = 0;
  virtual absl::StatusOr<std::shared_ptr<const ResidentTile>> DoCopyTile(
      const ResidentTile& /*tile*/) {
    return absl::UnimplementedError("this engine copies no tiles");
  }
  virtual std::shared_ptr<const PackedJob> DoPack(const AlignJob& /*job*/) { return nullptr; }
  // An error becomes the status of all results.
  virtual absl::Status DoAlign(absl::Span<const AlignJob> jobs,
                               absl::Span<AlignResult> results) = 0;
  virtual absl::StatusOr<ScoreResult> DoScore(const ScoreRequest& request) = 0;
  virtual absl::StatusOr<FilteredCloud> DoFilter(const PointCloud& cloud,
                                                 const FilterOptions& options,
                                                 WorkClass work_class) = 0;
  virtual absl::StatusOr<std::shared_ptr<const ResidentBoundGrid>> DoLoadBoundGrid(
      BoundGrid grid) = 0;
  virtual absl::StatusOr<std::vector<BoundHit>> DoBound(const BoundRequest& request) = 0;
};

// Engine::Score at poses anywhere: where no point of the scan can meet a cell of a map with these
// bounds, which may be outside of the ranges that an engine computes in, all scores are 0.
[[nodiscard]] absl::StatusOr<ScoreResult> ScoreAnywhere(Engine& engine, const Bounds& map,
                                                        ScoreRequest request);

}  // namespace voxloc

#endif  // VOXLOC_CORE_ENGINE_ENGINE_H_
