// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/leaf_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/engine/job_check.h"
#include "core/status/try.h"

namespace voxloc {

CoarseNodeGroups GroupByHits(const std::vector<CoarseNode>& nodes, size_t first_wanted) {
  std::array<size_t, kMaxBoundPoints + 1> with_hits{};
  for (const CoarseNode& node : nodes) ++with_hits[node.hits];
  CoarseNodeGroups groups;
  std::array<size_t, kMaxBoundPoints + 1> range_of{};
  std::vector<size_t> places(1, 0);  // where the next node of each range of hits goes
  size_t wanted = first_wanted;
  size_t begin = 0;
  size_t end = 0;
  for (size_t hits = with_hits.size(); hits-- > 0;) {
    range_of[hits] = places.size() - 1;
    end += with_hits[hits];
    if (end - begin < wanted && hits > 0) continue;
    places.push_back(end);
    for (; end - begin > 2 * wanted; wanted *= 2) groups.ends.push_back(begin += wanted);
    if (end > begin) groups.ends.push_back(end);
    begin = end;
    wanted *= 2;
  }
  groups.nodes.resize(nodes.size());
  for (const CoarseNode& node : nodes) groups.nodes[places[range_of[node.hits]]++] = node;
  return groups;
}

namespace {

// The share of the points that must hit in the first pass, and its decrement per pass while no leaf
// is known.
constexpr double kFirstPassShare = 0.72;
constexpr double kPassStepShare = 0.075;
// Nodes in one call of the engine, about; between calls the search looks at its stop token.
constexpr size_t kNodesPerCall = size_t{1} << 21;
// Coarse nodes that are expanded before there is a count to beat; and those that serve to estimate
// the hits of the best leaf.
constexpr size_t kFirstNodes = 512;
constexpr size_t kProbeNodes = size_t{1} << 15;
// Coarse nodes that are held at a time; twice 64 MB.
constexpr size_t kMaxCoarseNodes = size_t{1} << 23;

bool Better(const Leaf& a, const Leaf& b) {
  if (a.hits != b.hits) return a.hits > b.hits;
  if (a.heading != b.heading) return a.heading < b.heading;
  if (a.y != b.y) return a.y < b.y;
  return a.x < b.x;
}

// The best leaves seen so far that are distinct from each other.
class LeafSet {
 public:
  LeafSet(const LeafSearchOptions& options, const Headings& headings)
      : options_(options), headings_(headings) {}

  void Add(const std::vector<Leaf>& leaves) {
    std::vector<Leaf> all = best_;
    const uint32_t least = HitsToBeat();
    for (const Leaf& leaf : leaves) {
      if (leaf.hits >= least) all.push_back(leaf);
    }
    std::sort(all.begin(), all.end(), Better);
    best_.clear();
    for (const Leaf& leaf : all) {
      if (best_.size() == options_.max_leaves) break;
      const bool taken = std::any_of(best_.begin(), best_.end(),
                                     [&](const Leaf& better) { return Near(leaf, better); });
      if (!taken) best_.push_back(leaf);
    }
  }

  // Most hits first. Every leaf that was added is one of these, or is near one with at least as
  // many hits, or has no more hits than the last.
  [[nodiscard]] const std::vector<Leaf>& best() const { return best_; }
  // What a leaf must have to change the set; 0 while it is not full.
  [[nodiscard]] uint32_t HitsToBeat() const {
    return best_.size() < options_.max_leaves ? 0 : best_.back().hits;
  }

 private:
  [[nodiscard]] bool Near(const Leaf& a, const Leaf& b) const {
    if (std::abs(a.x - b.x) >= options_.min_separation_columns ||
        std::abs(a.y - b.y) >= options_.min_separation_columns) {
      return false;
    }
    auto apart =
        static_cast<int32_t>(std::max(a.heading, b.heading) - std::min(a.heading, b.heading));
    if (headings_.full_turn) apart = std::min(apart, static_cast<int32_t>(headings_.count) - apart);
    return apart < options_.min_separation_headings;
  }

  const LeafSearchOptions options_;
  const Headings headings_;
  std::vector<Leaf> best_;
};

class Search {
 public:
  Search(Engine& engine, const LeafSearchJob& job, const LeafSearchOptions& options,
         const LeafSearchProgress& progress)
      : engine_(engine),
        job_(job),
        options_(options),
        progress_(progress),
        shape_(job.grid->resident->shape()),
        leaves_(options, job.headings) {
    allowed_z_.assign(static_cast<size_t>(shape_.words), 0);
    for (int32_t z = job.begin_z; z < job.end_z; ++z) {
      allowed_z_[static_cast<size_t>(z / 64)] |= uint64_t{1} << (z % 64);
    }
  }

  absl::StatusOr<LeafSearchResult> Run() {
    absl::Status status = RunPasses();
    LeafSearchResult result;
    if (absl::IsDeadlineExceeded(status)) {
      result.timed_out = true;
    } else if (!status.ok()) {
      return status;
    }
    // Some came before there was a best one to compare with.
    for (const Leaf& leaf : leaves_.best()) {
      if (leaf.hits >= MinHitsFromLeaves()) result.leaves.push_back(leaf);
    }
    result.nodes = nodes_;
    return result;
  }

 private:
  // What is done with a node that has enough hits: its first column, its hits and height.
  using Sink = absl::FunctionRef<void(const BoundBlock& at, const BoundHit& hit)>;

  absl::Status RunPasses() {
    const uint32_t step = ToHits(kPassStepShare);
    pass_min_hits_ = std::max(MinHits(), ToHits(kFirstPassShare));
    for (;; ++pass_) {
      absl::Status status = RunPass();
      if (!status.ok() || IsLastPass()) return status;
      // With a best leaf, the min_hits with which the next pass is the last one is known.
      const uint32_t guaranteed = ShareOfBestHits(options_.complete_share);
      const uint32_t lower = pass_min_hits_ > step ? pass_min_hits_ - step : 1;
      pass_min_hits_ = std::max(MinHits(), guaranteed > 0 ? guaranteed : lower);
    }
  }

  // Whether no leaf below the min_hits of this pass can change the guaranteed result.
  [[nodiscard]] bool IsLastPass() const {
    return pass_min_hits_ <= MinHits() ||
           ShareOfBestHits(options_.complete_share) >= pass_min_hits_ ||
           leaves_.HitsToBeat() >= pass_min_hits_;
  }
  // Whether the leaves found so far already imply another pass.
  [[nodiscard]] bool IsPassTooStrict() const { return !leaves_.best().empty() && !IsLastPass(); }

  // Bounds all nodes of the coarsest level, the area over, and follows those with enough hits.
  absl::Status RunPass() {
    const size_t level = shape_.shifts.size() - 1;
    const int32_t window = 1 << shape_.shifts[level];
    const Eigen::Vector2i begin = job_.begin / window * window;
    const Eigen::Vector2i size = job_.end - begin;
    const int32_t nodes_x = (size.x() + window - 1) / window;
    const int32_t nodes_y = (size.y() + window - 1) / window;
    const size_t per_heading = static_cast<size_t>(nodes_x) * static_cast<size_t>(nodes_y);
    const size_t headings_per_call = std::max<size_t>(1, kNodesPerCall / per_heading);
    std::vector<CoarseNode> nodes;
    const auto keep = [&nodes](const BoundBlock& at, const BoundHit& hit) {
      nodes.push_back({static_cast<uint16_t>(at.heading), static_cast<uint16_t>(at.x),
                       static_cast<uint16_t>(at.y), hit.hits});
    };
    for (size_t h = 0; h < job_.headings.count; h += headings_per_call) {
      std::vector<BoundBlock> blocks;
      for (size_t k = h; k < std::min(job_.headings.count, h + headings_per_call); ++k) {
        blocks.push_back({static_cast<uint32_t>(k), begin.x(), begin.y()});
      }
      absl::Status status =
          BoundBlocks(level, std::move(blocks), nodes_x, nodes_y, CurrentMinHits(), keep);
      Report(0.5 * static_cast<double>(h) / static_cast<double>(job_.headings.count));
      if (status.ok() && nodes.size() > kMaxCoarseNodes) {
        status = FollowBestFirst(GroupByHits(nodes, kFirstNodes));
        nodes.clear();
        if (IsPassTooStrict()) return status;
      }
      if (!status.ok()) return status;
    }
    return FollowBestFirst(GroupByHits(nodes, kFirstNodes));
  }

  // Expands the nodes that can still change the result, in growing groups, since the count to beat
  // changes less and less. The first kProbeNodes are expanded even below the min_hits of the pass:
  // they give an estimate of the best leaf's hits. If the pass turns out to be too strict, the
  // remaining nodes are left to the next pass.
  absl::Status FollowBestFirst(const CoarseNodeGroups& groups) {
    size_t begin = 0;
    for (const size_t end : groups.ends) {
      const bool probing = begin < kProbeNodes;
      if (!probing && IsPassTooStrict()) break;
      const uint32_t least = probing ? std::max(MinHits(), MinHitsFromLeaves()) : CurrentMinHits();
      VOXLOC_TRY(Follow(absl::MakeConstSpan(groups.nodes).subspan(begin, end - begin), least));
      Report(0.5 + 0.5 * static_cast<double>(end) / static_cast<double>(groups.nodes.size()));
      begin = end;
    }
    return absl::OkStatus();
  }

  [[nodiscard]] uint32_t ToHits(double share) const {
    const double hits = share * static_cast<double>(job_.scan->points_per_heading);
    return std::max<uint32_t>(1, static_cast<uint32_t>(std::ceil(hits)));
  }
  [[nodiscard]] uint32_t MinHits() const { return ToHits(options_.min_share); }
  // A share of the best leaf's hits; 0 while there is none.
  [[nodiscard]] uint32_t ShareOfBestHits(double share) const {
    if (leaves_.best().empty()) return 0;
    return static_cast<uint32_t>(std::ceil(share * leaves_.best().front().hits));
  }
  // The hits that a further leaf needs, given the leaves found so far.
  [[nodiscard]] uint32_t MinHitsFromLeaves() const {
    return std::max(leaves_.HitsToBeat(), ShareOfBestHits(options_.share_of_best));
  }
  [[nodiscard]] uint32_t CurrentMinHits() const {
    return std::max(pass_min_hits_, MinHitsFromLeaves());
  }

  void Report(double fraction) const {
    // A pass that is followed by another one counts as half of the remaining work.
    const double left = std::pow(0.5, static_cast<double>(pass_));
    if (progress_) progress_(1.0 - left + 0.5 * left * fraction, nodes_);
  }

  absl::Status BoundBlocks(size_t level, std::vector<BoundBlock> blocks, int32_t nodes_x,
                           int32_t nodes_y, uint32_t least, Sink sink) {
    BoundRequest request;
    request.grid = job_.grid->resident;
    request.scan = job_.scan;
    request.level = level;
    request.blocks = std::move(blocks);
    request.nodes_x = nodes_x;
    request.nodes_y = nodes_y;
    request.allowed_z = allowed_z_;
    request.min_hits = least;
    request.work_class = WorkClass::kSearching;
    request.stop = job_.stop;
    VOXLOC_ASSIGN_OR_RETURN(const std::vector<BoundHit> hits, engine_.Bound(request));
    const auto width = static_cast<uint32_t>(nodes_x);
    const auto height = static_cast<uint32_t>(nodes_y);
    nodes_ += request.blocks.size() * width * height;
    const int shift = shape_.shifts[level];
    const int32_t window = 1 << shift;
    // Many of a row come one after another.
    uint32_t row_begin = 0;
    uint32_t row_end = 0;
    BoundBlock row_at;
    for (const BoundHit& hit : hits) {
      if (hit.node < row_begin || hit.node >= row_end) {
        const uint32_t row = hit.node / width;
        row_begin = row * width;
        row_end = row_begin + width;
        row_at = request.blocks[row / height];
        row_at.y += static_cast<int32_t>(row % height) << shift;
      }
      BoundBlock at = row_at;
      at.x += static_cast<int32_t>(hit.node - row_begin) << shift;
      // A window at the border of the area reaches beyond it.
      if (at.x >= job_.end.x() || at.y >= job_.end.y()) continue;
      if (at.x + window <= job_.begin.x() || at.y + window <= job_.begin.y()) continue;
      sink(at, hit);
    }
    return absl::OkStatus();
  }

  // From coarse nodes down to leaves with at least so many hits, or with as many as the leaves
  // found on the way ask for. They go into the set.
  absl::Status Follow(absl::Span<const CoarseNode> coarse, uint32_t least) {
    std::vector<BoundBlock> parents;
    parents.reserve(coarse.size());
    for (const CoarseNode& node : coarse) {
      if (node.hits >= least) parents.push_back({node.heading, node.x, node.y});
    }
    for (size_t level = shape_.shifts.size() - 1; level-- > 0;) {
      std::vector<BoundBlock> nodes;
      std::vector<Leaf> leaves;
      const auto descend = [&nodes](const BoundBlock& at, const BoundHit&) { nodes.push_back(at); };
      const auto take = [&leaves](const BoundBlock& at, const BoundHit& hit) {
        leaves.push_back({at.heading, at.x, at.y, hit.z, hit.hits});
      };
      const int32_t children = 1 << (shape_.shifts[level + 1] - shape_.shifts[level]);
      const size_t per_call =
          std::max<size_t>(1, kNodesPerCall / static_cast<size_t>(children * children));
      const auto all = absl::MakeConstSpan(parents);
      for (size_t begin = 0; begin < parents.size(); begin += per_call) {
        const auto some = all.subspan(begin, per_call);
        VOXLOC_TRY(BoundBlocks(level, std::vector<BoundBlock>(some.begin(), some.end()), children,
                               children, std::max(least, MinHitsFromLeaves()),
                               level == 0 ? Sink(take) : Sink(descend)));
        leaves_.Add(leaves);
        leaves.clear();
      }
      parents = std::move(nodes);
    }
    return absl::OkStatus();
  }

  Engine& engine_;
  const LeafSearchJob& job_;
  const LeafSearchOptions options_;
  const LeafSearchProgress& progress_;
  const BoundGridShape& shape_;
  LeafSet leaves_;
  std::vector<uint64_t> allowed_z_;
  size_t pass_ = 0;
  uint32_t pass_min_hits_ = 1;
  uint64_t nodes_ = 0;
};

}  // namespace

absl::StatusOr<LeafSearchResult> SearchLeaves(Engine& engine, const LeafSearchJob& job,
                                              const LeafSearchOptions& options,
                                              const LeafSearchProgress& progress) {
  return Search(engine, job, options, progress).Run();
}

}  // namespace voxloc
