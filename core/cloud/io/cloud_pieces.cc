// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/cloud_pieces.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/cloud_builder.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// Of a file of text, read at a time: more than a line has.
constexpr size_t kTextBytes = 4 * kMaxTextLineBytes;

// Of records, where those of piece_points have more.
constexpr size_t kRecordsBytes = 32 << 20;

}  // namespace

absl::StatusOr<CloudPieceReader> CloudPieceReader::Open(const std::string& path,
                                                        const CloudPieceOptions& options) {
  VOXLOC_ASSIGN_OR_RETURN(const CloudFormat format, CloudFormatOf(path));
  VOXLOC_ASSIGN_OR_RETURN(RandomAccessFile file, RandomAccessFile::Open(path));
  if (file.size() == 0) return Malformed(path, "the file is empty");
  CloudPieceReader reader;
  reader.piece_points_ = std::max<size_t>(1, options.piece_points);
  if (format == CloudFormat::kText) {
    VOXLOC_ASSIGN_OR_RETURN(const CloudFileInfo info, InspectCloud(path, options.read));
    reader.points_ = info.points;
    reader.text_.emplace(path, options.read.xy_scale);
  } else {
    VOXLOC_ASSIGN_OR_RETURN(const std::optional<CloudRecords> records,
                            FindRecords(file, format, path, options.read));
    if (!records.has_value()) {
      VOXLOC_ASSIGN_OR_RETURN(reader.whole_, ReadCloud(path, options.read));
      reader.points_ = reader.whole_.size();
      return reader;
    }
    reader.points_ = records->points;
    reader.records_ = *records;
    const size_t most = kRecordsBytes / std::max<size_t>(1, records->record_bytes);
    reader.piece_points_ = std::clamp<size_t>(most, 1, reader.piece_points_);
  }
  reader.file_.emplace(std::move(file));
  return reader;
}

absl::StatusOr<PointCloud> CloudPieceReader::Next() {
  if (!streams()) return std::exchange(whole_, PointCloud());
  try {
    return text_.has_value() ? NextOfText() : NextOfRecords();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", piece_points_, " points of ",
                                                     records_.record_bytes, " bytes"));
  }
}

absl::StatusOr<PointCloud> CloudPieceReader::NextOfRecords() {
  PointCloud piece;
  // Pieces that have withheld points only are empty.
  while (piece.empty() && done_ < points_) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(piece_points_, points_ - done_));
    bytes_.resize(count * records_.record_bytes);
    const uint64_t offset = records_.offset + done_ * records_.record_bytes;
    VOXLOC_TRY(file_->Read(offset, bytes_.size(), bytes_.data()));
    done_ += count;
    piece = records_.PointsOf(bytes_.data(), count, &origin_);
  }
  return piece;
}

absl::StatusOr<PointCloud> CloudPieceReader::NextOfText() {
  CloudBuilder builder(0, false, origin_);
  while (builder.size() == 0 && text_offset_ < file_->size()) {
    const uint64_t left = file_->size() - text_offset_;
    bytes_.resize(static_cast<size_t>(std::min<uint64_t>(kTextBytes, left)));
    VOXLOC_TRY(file_->Read(text_offset_, bytes_.size(), bytes_.data()));
    VOXLOC_ASSIGN_OR_RETURN(const size_t taken,
                            text_->Parse({bytes_.data(), bytes_.size()}, bytes_.size() == left,
                                         piece_points_, builder));
    text_offset_ += taken;
  }
  origin_ = builder.origin();
  return std::move(builder).Take();
}

absl::StatusOr<PointCloud> ReadAllPieces(const std::string& path, const CloudReadOptions& limits) {
  VOXLOC_ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  VOXLOC_TRY(CheckFileSize(path, file.size(), limits.max_file_bytes));
  CloudPieceOptions options;
  options.read = limits;
  VOXLOC_ASSIGN_OR_RETURN(CloudPieceReader reader, CloudPieceReader::Open(path, options));
  const auto check_points = [&](uint64_t points) {
    if (points <= limits.max_points) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        path, ": must have at most ", limits.max_points, " points (got ", points, " or more)"));
  };
  if (reader.points_known()) VOXLOC_TRY(check_points(reader.points()));
  VOXLOC_ASSIGN_OR_RETURN(PointCloud cloud, reader.Next());
  try {
    const bool with_intensity = cloud.has_intensity();
    cloud.Reserve(static_cast<size_t>(reader.points()));
    if (with_intensity) cloud.intensity.reserve(static_cast<size_t>(reader.points()));
    while (true) {
      VOXLOC_TRY(check_points(cloud.size()));
      VOXLOC_ASSIGN_OR_RETURN(const PointCloud piece, reader.Next());
      if (piece.empty()) return cloud;
      // A piece without a finite point has no origin of its own.
      cloud.origin = piece.origin;
      Append(piece, cloud);
    }
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(path, ": no memory for its points"));
  }
}

}  // namespace voxloc
