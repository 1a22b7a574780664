// SPDX-License-Identifier: Apache-2.0

#include "tests/clients/cpp/fake_maps.h"

#include <Eigen/Core>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "clients/cpp/messages.h"
#include "core/checksum/crc32c.h"
#include "core/checksum/sha256.h"

namespace voxloc::client {
namespace {

constexpr size_t kPointBytes = 12;

grpc::Status Broken() {
  return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the connection is broken");
}

grpc::Status Wrong(const std::string& what) {
  return grpc::Status(grpc::StatusCode::DATA_LOSS, what);
}

// As TileInfo.sha256 has it, from the bytes themselves.
std::string DigestOfBytes(const std::vector<double>& origin, const std::string& data) {
  std::string bytes(reinterpret_cast<const char*>(origin.data()), 3 * sizeof(double));
  for (size_t i = 0; i + kPointBytes <= data.size(); i += kPointBytes) {
    float point[3];
    std::memcpy(point, data.data() + i, kPointBytes);
    if (std::isfinite(point[0]) && std::isfinite(point[1]) && std::isfinite(point[2])) {
      bytes.append(data, i, kPointBytes);
    }
  }
  return ToBytes(Sha256Of(bytes));
}

// Of float32 x y z around the origin, those that are finite.
v1::Box BoundsOf(const std::vector<double>& origin, const std::string& data) {
  Eigen::Vector3f min;
  min.setConstant(std::numeric_limits<float>::infinity());
  Eigen::Vector3f max = -min;
  for (size_t at = 0; at + kPointBytes <= data.size(); at += kPointBytes) {
    Eigen::Vector3f point;
    std::memcpy(point.data(), data.data() + at, kPointBytes);
    if (!point.allFinite()) continue;
    min = min.cwiseMin(point);
    max = max.cwiseMax(point);
  }
  const Eigen::Vector3d at_m(origin[0], origin[1], origin[2]);
  v1::Box box;
  EncodeVector(at_m + min.cast<double>(), box.mutable_min());
  EncodeVector(at_m + max.cast<double>(), box.mutable_max());
  return box;
}

}  // namespace

FakeBehaviour FakeMaps::Behaviour() {
  FakeBehaviour behaviour;
  behaviour.update_map_tiles = [this](FakeBehaviour::UpdateStream* stream) {
    return Update(stream);
  };
  behaviour.get_map = [this](const v1::GetMapRequest&, v1::GetMapResponse* response) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (revisions_.empty()) return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such map");
    *response->mutable_map() = InfoOf(revisions_.back());
    return grpc::Status::OK;
  };
  behaviour.list_tiles = [this](const v1::ListTilesRequest& request,
                                v1::ListTilesResponse* response) {
    return ListTiles(request, response);
  };
  behaviour.get_tiles = [this](const v1::GetTilesRequest& request,
                               FakeBehaviour::TileStream* stream) {
    return GetTiles(request, stream);
  };
  behaviour.list_revisions = [this](const v1::ListRevisionsRequest&,
                                    v1::ListRevisionsResponse* response) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Revision& revision : revisions_) *response->add_revisions() = revision.info;
    return grpc::Status::OK;
  };
  return behaviour;
}

void FakeMaps::BreakAfterTiles(int tiles) {
  const std::lock_guard<std::mutex> lock(mutex_);
  break_after_tiles_ = tiles;
}

void FakeMaps::LoseNextAnswer() {
  const std::lock_guard<std::mutex> lock(mutex_);
  lose_next_answer_ = true;
}

void FakeMaps::BreakGetTilesAfter(int tiles) {
  const std::lock_guard<std::mutex> lock(mutex_);
  break_get_after_ = tiles;
}

void FakeMaps::DamageTile(const std::string& tile_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  damaged_ = tile_id;
}

FakeMaps::Record FakeMaps::record() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return record_;
}

std::vector<FakeMaps::Revision> FakeMaps::revisions() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return revisions_;
}

FakeMaps::Tiles FakeMaps::tiles() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return revisions_.empty() ? Tiles() : revisions_.back().tiles;
}

grpc::Status FakeMaps::Update(FakeBehaviour::UpdateStream* stream) {
  v1::BeginUpdate begin;
  Tiles tiles;
  Content arriving;
  uint32_t next_chunk = 0;
  uint64_t points_arrived = 0;
  v1::UpdateMapTilesRequest request;
  while (stream->Read(&request)) {
    const std::lock_guard<std::mutex> lock(mutex_);
    v1::UpdateMapTilesResponse response;
    if (request.has_begin()) {
      begin = request.begin();
      record_.begin = begin;
      ++record_.transactions;
      const Revision* from = Find(begin.from_revision());
      if (begin.from_revision() != 0 && from == nullptr) {
        return grpc::Status(grpc::StatusCode::NOT_FOUND, "the revision is not kept");
      }
      if (from != nullptr && !begin.clear()) tiles = from->tiles;
      v1::UpdateBegun* begun = response.mutable_begun();
      begun->set_max_chunk_bytes(1000);
      const auto before = committed_requests_.find(begin.request_id());
      if (before != committed_requests_.end()) begun->set_committed_revision(before->second);
    } else if (request.has_chunk()) {
      const v1::TileChunk& chunk = request.chunk();
      ++record_.chunks;
      if (chunk.chunk_index() != next_chunk++) return Wrong("a chunk out of order");
      if (chunk.crc32c() != Crc32c(chunk.cloud().data())) return Wrong("crc32c");
      if (chunk.chunk_index() == 0) {
        const v1::Vector3& origin = chunk.cloud().origin();
        arriving = {{origin.x(), origin.y(), origin.z()}, "", 0};
        points_arrived = 0;
      }
      arriving.data += chunk.cloud().data();
      points_arrived += chunk.cloud().data().size() / kPointBytes;
      if (!chunk.last()) continue;
      next_chunk = 0;
      if (chunk.total_points() != points_arrived) return Wrong("total_points");
      arriving.points = points_arrived;
      const std::string digest = DigestOfBytes(arriving.origin, arriving.data);
      if (chunk.sha256() != digest) return Wrong("sha256");
      contents_[digest] = arriving;
      tiles[chunk.tile_id()] = digest;
      ++record_.tiles_sent;
      response.mutable_tile_added()->set_tile_id(chunk.tile_id());
      response.mutable_tile_added()->set_points(points_arrived);
      if (break_after_tiles_ > 0 && --break_after_tiles_ == 0) return Broken();
    } else if (request.has_reuse()) {
      ++record_.reuses;
      const auto content = contents_.find(request.reuse().sha256());
      if (content == contents_.end()) {
        ++record_.missing;
        response.mutable_tile_missing()->set_tile_id(request.reuse().tile_id());
      } else {
        tiles[request.reuse().tile_id()] = content->first;
        response.mutable_tile_added()->set_tile_id(request.reuse().tile_id());
        response.mutable_tile_added()->set_points(content->second.points);
      }
    } else if (request.has_remove()) {
      response.mutable_tile_removed()->set_existed(tiles.erase(request.remove().tile_id()) > 0);
    } else if (request.has_commit()) {
      const auto before = committed_requests_.find(begin.request_id());
      v1::UpdateCommitted* committed = response.mutable_committed();
      committed->set_repeated(before != committed_requests_.end());
      const uint64_t revision =
          committed->repeated() ? before->second : Commit(begin, request.commit(), tiles);
      *committed->mutable_map() = InfoOf(*Find(revision));
      if (std::exchange(lose_next_answer_, false)) return Broken();
      stream->Write(response);
      return grpc::Status::OK;
    }
    stream->Write(response);
  }
  return grpc::Status::OK;
}

uint64_t FakeMaps::Commit(const v1::BeginUpdate& begin, const v1::CommitUpdate& commit,
                          Tiles tiles) {
  record_.commit = commit;
  Revision next;
  next.info.set_revision(revisions_.size() + 1);
  next.info.set_parent(begin.from_revision() == 0 ? revisions_.size() : begin.from_revision());
  next.info.set_state(commit.stage() ? v1::REVISION_STATE_STAGED : v1::REVISION_STATE_ACTIVE);
  next.info.set_comment(commit.comment());
  next.info.set_request_id(begin.request_id());
  next.info.set_tiles(tiles.size());
  *next.info.mutable_canary_vehicles() = commit.canary_vehicles();
  next.tiles = std::move(tiles);
  revisions_.push_back(next);
  if (begin.has_options()) options_ = begin.options();
  if (begin.has_frame()) frame_ = begin.frame();
  if (!begin.request_id().empty()) committed_requests_[begin.request_id()] = next.info.revision();
  return next.info.revision();
}

const FakeMaps::Revision* FakeMaps::Find(uint64_t revision) const {
  if (revision == 0) return revisions_.empty() ? nullptr : &revisions_.back();
  return revision <= revisions_.size() ? &revisions_[revision - 1] : nullptr;
}

v1::MapInfo FakeMaps::InfoOf(const Revision& revision) const {
  v1::MapInfo info;
  info.set_name("town");
  info.set_revision(revision.info.revision());
  info.set_tiles(static_cast<uint32_t>(revision.tiles.size()));
  *info.mutable_options() = options_;
  if (frame_.ByteSizeLong() > 0) *info.mutable_frame() = frame_;
  return info;
}

grpc::Status FakeMaps::ListTiles(const v1::ListTilesRequest& request,
                                 v1::ListTilesResponse* response) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Revision* revision = Find(request.revision());
  if (revision == nullptr) return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such revision");
  response->set_map_revision(revision->info.revision());
  for (const auto& [id, digest] : revision->tiles) {
    v1::TileInfo* tile = response->add_tiles();
    tile->set_tile_id(id);
    tile->set_sha256(digest);
    const Content& content = contents_.at(digest);
    tile->set_points(content.points);
    *tile->mutable_bounds() = BoundsOf(content.origin, content.data);
  }
  return grpc::Status::OK;
}

grpc::Status FakeMaps::GetTiles(const v1::GetTilesRequest& request,
                                FakeBehaviour::TileStream* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Revision* revision = Find(request.revision());
  if (revision == nullptr) return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such revision");
  int sent = 0;
  for (const std::string& id : request.tile_ids()) {
    if (sent++ == break_get_after_) {
      break_get_after_ = -1;
      return Broken();
    }
    const std::string& digest = revision->tiles.at(id);
    const Content& content = contents_.at(digest);
    v1::GetTilesResponse part;
    part.set_map_revision(revision->info.revision());
    part.mutable_tile()->set_tile_id(id);
    part.mutable_tile()->set_sha256(digest);
    // In two parts, of which the first has a third of the points.
    const size_t first = content.data.size() / kPointBytes / 3 * kPointBytes;
    for (int i = 0; i < 2; ++i) {
      v1::Cloud* cloud = part.mutable_cloud();
      cloud->set_layout(v1::CLOUD_LAYOUT_FLOAT32_XYZ);
      cloud->mutable_origin()->set_x(content.origin[0]);
      cloud->mutable_origin()->set_y(content.origin[1]);
      cloud->mutable_origin()->set_z(content.origin[2]);
      cloud->set_data(i == 0 ? content.data.substr(0, first) : content.data.substr(first));
      if (id == damaged_ && i == 1) (*cloud->mutable_data())[0] ^= 1;
      part.set_last(i == 1);
      stream->Write(part);
      part.clear_tile();
    }
  }
  return grpc::Status::OK;
}

}  // namespace voxloc::client
