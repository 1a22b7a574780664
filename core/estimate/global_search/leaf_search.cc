// SPDX-License-Identifier: Apache-2.0

#include "core/estimate/global_search/leaf_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "core/engine/job_check.h"
#include "core/estimate/global_search/leaf_set.h"

namespace voxloc {
namespace {

// Of the points, that must hit in the first pass; and how much less in each further one.
constexpr double kFirstShare = 0.72;
constexpr double kShareStep = 0.075;
// Nodes in one call of the engine, about; between calls the search looks at its stop token.
constexpr size_t kNodesPerCall = size_t{1} << 21;
// Coarse nodes that are followed before there is a count to beat, and at a time right after that.
constexpr size_t kFirstNodes = 512;
constexpr size_t kNodesAtATime = size_t{1} << 15;
// Coarse nodes kept; those with the fewest hits are let go beyond. 128 MB.
constexpr size_t kMaxCoarseNodes = size_t{1} << 23;

struct Node {
  BoundBlock at;  // its first column
  uint32_t hits = 0;
  int32_t z = 0;
};

bool BetterNode(const Node& a, const Node& b) {
  if (a.hits != b.hits) return a.hits > b.hits;
  if (a.at.heading != b.at.heading) return a.at.heading < b.at.heading;
  if (a.at.y != b.at.y) return a.at.y < b.at.y;
  return a.at.x < b.at.x;
}

// Near each other in memory, and headings together.
bool InWalkingOrder(const BoundBlock& a, const BoundBlock& b) {
  if (a.heading != b.heading) return a.heading < b.heading;
  if (a.y != b.y) return a.y < b.y;
  return a.x < b.x;
}

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
    absl::Status status = RunToTheEnd();
    LeafSearchResult result;
    if (absl::IsDeadlineExceeded(status)) {
      result.timed_out = true;
    } else if (!status.ok()) {
      return status;
    }
    // Some came before there was a best one to compare with.
    for (const Leaf& leaf : leaves_.best()) {
      if (leaf.hits >= LeastOfLeaves()) result.leaves.push_back(leaf);
    }
    result.nodes = nodes_;
    return result;
  }

 private:
  absl::Status RunToTheEnd() {
    const uint32_t least_ever = ToHits(options_.min_share);
    const uint32_t step = ToHits(kShareStep);
    least_of_pass_ = std::max(least_ever, ToHits(kFirstShare));
    for (pass_ = 0;; ++pass_) {
      absl::Status status = Pass();
      if (!status.ok()) return status;
      // Whatever has fewer hits than the pass asked for cannot change what was promised.
      const uint32_t promised = HitsOfBest(options_.complete_share);
      if (least_of_pass_ == least_ever || promised >= least_of_pass_ ||
          leaves_.HitsToBeat() >= least_of_pass_) {
        return status;
      }
      // With a best leaf it is known how far down the next pass must go to be the last one.
      const uint32_t lower = least_of_pass_ > step ? least_of_pass_ - step : 1;
      least_of_pass_ = std::max(least_ever, promised > 0 ? promised : lower);
    }
  }

  absl::Status Pass() {
    absl::StatusOr<std::vector<Node>> coarse = BoundCoarseNodes();
    if (!coarse.ok()) return coarse.status();
    std::vector<Node>& nodes = *coarse;
    const auto first = static_cast<ptrdiff_t>(std::min(kFirstNodes, nodes.size()));
    std::partial_sort(nodes.begin(), nodes.begin() + first, nodes.end(), BetterNode);
    absl::Status status = Follow({nodes.data(), static_cast<size_t>(first)});
    // Those that can still change the result, the best first.
    nodes.erase(std::remove_if(nodes.begin() + first, nodes.end(),
                               [&](const Node& n) { return n.hits < Least(); }),
                nodes.end());
    std::sort(nodes.begin() + first, nodes.end(), BetterNode);
    // Ever more of them at a time: the count to beat settles, and neighbours profit from each
    // other.
    size_t count = kNodesAtATime;
    for (auto begin = static_cast<size_t>(first); begin < nodes.size() && status.ok();
         begin += count, count *= 2) {
      if (nodes[begin].hits < Least()) break;
      const size_t end = std::min(begin + count, nodes.size());
      status = Follow({nodes.data() + begin, end - begin});
      Report(0.5 + 0.5 * static_cast<double>(end) / static_cast<double>(nodes.size()));
    }
    return status;
  }

  [[nodiscard]] uint32_t ToHits(double share) const {
    const double hits = share * static_cast<double>(job_.scan->points_per_heading);
    return std::max<uint32_t>(1, static_cast<uint32_t>(std::ceil(hits)));
  }
  // A share of the best leaf's hits; 0 while there is none.
  [[nodiscard]] uint32_t HitsOfBest(double share) const {
    if (leaves_.best().empty()) return 0;
    return static_cast<uint32_t>(std::ceil(share * leaves_.best().front().hits));
  }
  // What the leaves found so far ask of others.
  [[nodiscard]] uint32_t LeastOfLeaves() const {
    return std::max(leaves_.HitsToBeat(), HitsOfBest(options_.share_of_best));
  }
  [[nodiscard]] uint32_t Least() const { return std::max(least_of_pass_, LeastOfLeaves()); }

  void Report(double fraction) const {
    // A pass that is followed by another was about half of what is left.
    const double left = std::pow(0.5, static_cast<double>(pass_));
    if (progress_) progress_(1.0 - left + 0.5 * left * fraction, nodes_);
  }

  // All nodes of the coarsest level, the area over, that have enough hits.
  absl::StatusOr<std::vector<Node>> BoundCoarseNodes() {
    const size_t level = shape_.shifts.size() - 1;
    const int32_t window = 1 << shape_.shifts[level];
    const Eigen::Vector2i begin = job_.begin / window * window;
    const Eigen::Vector2i size = job_.end - begin;
    const int32_t nodes_x = (size.x() + window - 1) / window;
    const int32_t nodes_y = (size.y() + window - 1) / window;
    const size_t per_heading = static_cast<size_t>(nodes_x) * static_cast<size_t>(nodes_y);
    const size_t headings_per_call = std::max<size_t>(1, kNodesPerCall / per_heading);
    std::vector<Node> nodes;
    uint32_t least = least_of_pass_;
    for (size_t h = 0; h < job_.headings.count; h += headings_per_call) {
      std::vector<BoundBlock> blocks;
      for (size_t k = h; k < std::min(job_.headings.count, h + headings_per_call); ++k) {
        blocks.push_back({static_cast<uint32_t>(k), begin.x(), begin.y()});
      }
      absl::Status status = BoundBlocks(level, std::move(blocks), nodes_x, nodes_y, least, nodes);
      if (!status.ok()) return status;
      if (nodes.size() > kMaxCoarseNodes) least = DropWorst(nodes);
      Report(0.5 * static_cast<double>(h) / static_cast<double>(job_.headings.count));
    }
    return nodes;
  }

  // Leaves at most half; what a node must have from now on.
  static uint32_t DropWorst(std::vector<Node>& nodes) {
    std::vector<size_t> with_hits(kMaxBoundPoints + 2, 0);
    for (const Node& node : nodes) ++with_hits[node.hits];
    uint32_t least = kMaxBoundPoints + 1;
    for (size_t kept = 0; least > 1 && kept + with_hits[least - 1] <= kMaxCoarseNodes / 2;) {
      kept += with_hits[--least];
    }
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                               [&](const Node& node) { return node.hits < least; }),
                nodes.end());
    return least;
  }

  absl::Status BoundBlocks(size_t level, std::vector<BoundBlock> blocks, int32_t nodes_x,
                           int32_t nodes_y, uint32_t least, std::vector<Node>& nodes) {
    BoundRequest request;
    request.grid = job_.grid->resident;
    request.scan = job_.scan;
    request.level = level;
    request.blocks = std::move(blocks);
    request.nodes_x = nodes_x;
    request.nodes_y = nodes_y;
    request.allowed_z = allowed_z_;
    request.min_hits = least;
    request.stop = job_.stop;
    const absl::StatusOr<std::vector<BoundHit>> hits = engine_.Bound(request);
    if (!hits.ok()) return hits.status();
    const auto width = static_cast<uint32_t>(nodes_x);
    const auto height = static_cast<uint32_t>(nodes_y);
    nodes_ += request.blocks.size() * width * height;
    const int shift = shape_.shifts[level];
    for (const BoundHit& hit : *hits) {
      const uint32_t row = hit.node / width;
      BoundBlock at = request.blocks[row / height];
      at.x += static_cast<int32_t>(hit.node % width) << shift;
      at.y += static_cast<int32_t>(row % height) << shift;
      // A window at the border of the area reaches beyond it.
      if (at.x >= job_.end.x() || at.y >= job_.end.y()) continue;
      const int32_t window = 1 << shift;
      if (at.x + window <= job_.begin.x() || at.y + window <= job_.begin.y()) continue;
      nodes.push_back({at, hit.hits, hit.z});
    }
    return absl::OkStatus();
  }

  // From coarse nodes down to leaves, which go into the set.
  absl::Status Follow(absl::Span<const Node> coarse) {
    std::vector<Node> nodes(coarse.begin(), coarse.end());
    for (size_t level = shape_.shifts.size() - 1; level > 0; --level) {
      const int32_t children = 1 << (shape_.shifts[level] - shape_.shifts[level - 1]);
      const auto per_parent = static_cast<size_t>(children * children);
      std::vector<BoundBlock> parents;
      parents.reserve(nodes.size());
      for (const Node& node : nodes) parents.push_back(node.at);
      std::sort(parents.begin(), parents.end(), InWalkingOrder);
      nodes.clear();
      const size_t per_call = std::max<size_t>(1, kNodesPerCall / per_parent);
      for (size_t begin = 0; begin < parents.size(); begin += per_call) {
        const auto first = parents.begin() + static_cast<ptrdiff_t>(begin);
        const auto count = static_cast<ptrdiff_t>(std::min(per_call, parents.size() - begin));
        absl::Status status = BoundBlocks(level - 1, std::vector<BoundBlock>(first, first + count),
                                          children, children, Least(), nodes);
        if (level == 1) {
          TakeLeaves(nodes);
          nodes.clear();
        }
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  void TakeLeaves(const std::vector<Node>& nodes) {
    std::vector<Leaf> leaves;
    leaves.reserve(nodes.size());
    for (const Node& node : nodes) {
      leaves.push_back({node.at.heading, node.at.x, node.at.y, node.z, node.hits});
    }
    leaves_.Add(leaves);
  }

  Engine& engine_;
  const LeafSearchJob& job_;
  const LeafSearchOptions options_;
  const LeafSearchProgress& progress_;
  const BoundGridShape& shape_;
  LeafSet leaves_;
  std::vector<uint64_t> allowed_z_;
  size_t pass_ = 0;
  uint32_t least_of_pass_ = 1;
  uint64_t nodes_ = 0;
};

}  // namespace

absl::StatusOr<LeafSearchResult> SearchLeaves(Engine& engine, const LeafSearchJob& job,
                                              const LeafSearchOptions& options,
                                              const LeafSearchProgress& progress) {
  return Search(engine, job, options, progress).Run();
}

}  // namespace voxloc
