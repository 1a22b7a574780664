// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/map_upload.h"

#include <chrono>
#include <random>
#include <thread>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_format.h"
#include "clients/cpp/error_details.h"
#include "core/cloud/cloud_digest.h"
#include "core/status/try.h"

namespace voxloc::client {
namespace {

std::string RandomRequestId() {
  std::random_device random;
  return absl::StrFormat("upload-%08x%08x%08x%08x", random(), random(), random(), random());
}

class Upload {
 public:
  Upload(const Channel& channel, std::vector<UploadTile> tiles, const UploadOptions& options)
      : channel_(channel), tiles_(std::move(tiles)), options_(options) {
    std::string* request_id = options_.transaction.begin.mutable_request_id();
    if (request_id->empty()) *request_id = RandomRequestId();
  }

  absl::StatusOr<UploadResult> Run() {
    Backoff backoff(options_.reconnect);
    UploadResult result;
    result.request_id = options_.transaction.begin.request_id();
    while (true) {
      absl::StatusOr<v1::UpdateCommitted> committed = RunOnce();
      result.counts = counts_;
      result.bytes_sent += counts_.bytes_sent;
      if (committed.ok()) {
        result.committed = *std::move(committed);
        return result;
      }
      const bool broke =
          began_ && !load_failed_ && committed.status().code() == absl::StatusCode::kUnavailable;
      if (!broke) return committed.status();
      if (counts_.tiles_sent > 0) backoff.Reset();
      if (!backoff.CanRetry()) return committed.status();
      const double wait_s = backoff.NextWait(RetryAfterS(committed.status()).value_or(0.0));
      Report({0, counts_, committed.status(), wait_s});
      std::this_thread::sleep_for(std::chrono::duration<double>(wait_s));
      ++result.transactions;
    }
  }

 private:
  absl::StatusOr<v1::UpdateCommitted> RunOnce() {
    counts_ = {};
    VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<MapTransaction> begun,
                            MapTransaction::Begin(channel_, options_.transaction));
    began_ = true;
    MapTransaction& transaction = *begun;
    if (transaction.begun().committed_revision() == 0) {
      const absl::Status sent = SendAll(&transaction);
      counts_ = transaction.counts();
      if (!sent.ok()) return sent;
    }
    absl::StatusOr<v1::UpdateCommitted> committed = transaction.Commit(options_.commit);
    counts_ = transaction.counts();
    return committed;
  }

  absl::Status SendAll(MapTransaction* transaction) {
    for (const UploadTile& tile : tiles_) {
      if (!tile.digest.has_value()) continue;
      VOXLOC_TRY(transaction->ReuseTile(tile.id, *tile.digest));
    }
    VOXLOC_TRY(transaction->Flush());
    const std::vector<std::string> missing_ids = transaction->TakeMissing();
    const std::unordered_set<std::string> missing(missing_ids.begin(), missing_ids.end());
    size_t done = static_cast<size_t>(transaction->counts().tiles_reused);
    Report({done, transaction->counts(), absl::OkStatus(), 0.0});
    for (UploadTile& tile : tiles_) {
      const bool known = tile.digest.has_value();
      if (known && missing.count(tile.id) == 0) continue;
      absl::StatusOr<PointCloud> cloud = tile.load();
      if (!cloud.ok()) {
        load_failed_ = true;
        return cloud.status();
      }
      if (known && !cloud->empty()) {
        VOXLOC_TRY(transaction->AddTile(tile.id, *cloud));
      } else if (!cloud->empty()) {
        tile.digest = DigestOf(*cloud);
        VOXLOC_TRY(transaction->OfferTile(tile.id, *std::move(cloud), *tile.digest));
      }
      Report({++done, transaction->counts(), absl::OkStatus(), 0.0});
    }
    return absl::OkStatus();
  }

  void Report(const UploadProgress& progress) const {
    if (options_.progress != nullptr) options_.progress(progress);
  }

  const Channel channel_;
  std::vector<UploadTile> tiles_;
  UploadOptions options_;
  TransactionCounts counts_;  // of the last transaction
  bool began_ = false;        // a transaction, once: the server can be reached
  bool load_failed_ = false;
};

}  // namespace

absl::StatusOr<UploadResult> UploadTiles(const Channel& channel, std::vector<UploadTile> tiles,
                                         const UploadOptions& options) {
  return Upload(channel, std::move(tiles), options).Run();
}

}  // namespace voxloc::client
