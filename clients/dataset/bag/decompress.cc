// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/decompress.h"

#include <bzlib.h>
#include <lz4frame.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/file_bytes.h"
#include "core/status/try.h"

namespace voxloc::bag {
namespace {

// Minimum size of the output buffer.
constexpr size_t kMinGrowthBytes = size_t{64} << 10;

// Grows `out`, of which `used` bytes are in use, to twice its size, up to `most`. False: it has
// `most` bytes in use.
bool GrowBuffer(size_t used, uint64_t most, std::string* out) {
  if (used < out->size()) return true;
  if (out->size() >= most) return false;
  out->resize(static_cast<size_t>(
      std::min<uint64_t>(most, std::max<uint64_t>(2 * uint64_t{out->size()}, kMinGrowthBytes))));
  return true;
}

// Frames of zstd or lz4 one after another, or one of bz2, piece by piece. For one thread.
class FrameDecoder {
 public:
  virtual ~FrameDecoder() = default;

  // Consumes bytes of `in` and writes at most `capacity` bytes to `out`; returns their number. If
  // it equals `capacity`, there may be more output, even if `in` is empty.
  virtual absl::StatusOr<size_t> Decode(absl::string_view* in, char* out, size_t capacity) = 0;

  // The last frame has ended.
  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] absl::Status Damaged(absl::string_view reason) const {
    return absl::InvalidArgumentError(
        absl::StrCat("data compressed with ", library_, " are damaged: ", reason));
  }

  absl::Status CheckMemory() const {
    if (has_memory_) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("there is no memory for ", library_));
  }

 protected:
  explicit FrameDecoder(const char* library) : library_(library) {}

  const char* const library_;
  bool has_memory_ = true;
  bool whole_ = false;
};

class Bz2Decoder : public FrameDecoder {
 public:
  Bz2Decoder() : FrameDecoder("bz2") {
    has_memory_ = BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK;
  }
  ~Bz2Decoder() override { BZ2_bzDecompressEnd(&stream_); }

  absl::StatusOr<size_t> Decode(absl::string_view* in, char* out, size_t capacity) override {
    // bz2 takes no const pointer, and does not write there.
    stream_.next_in = const_cast<char*>(in->data());
    stream_.avail_in = static_cast<unsigned>(in->size());
    stream_.next_out = out;
    stream_.avail_out = static_cast<unsigned>(capacity);
    const int result = BZ2_bzDecompress(&stream_);
    whole_ = result == BZ_STREAM_END;
    if (result != BZ_OK && !whole_) return Damaged(absl::StrCat("error ", result));
    in->remove_prefix(in->size() - stream_.avail_in);
    return capacity - stream_.avail_out;
  }

 private:
  bz_stream stream_ = {};
};

class ZstdDecoder : public FrameDecoder {
 public:
  ZstdDecoder() : FrameDecoder("zstd"), stream_(ZSTD_createDStream()) {
    has_memory_ = stream_ != nullptr;
  }
  ~ZstdDecoder() override { ZSTD_freeDStream(stream_); }

  absl::StatusOr<size_t> Decode(absl::string_view* in, char* out, size_t capacity) override {
    if (in->empty() && whole_) return size_t{0};
    ZSTD_inBuffer from = {in->data(), in->size(), 0};
    ZSTD_outBuffer to = {out, capacity, 0};
    const size_t expected = ZSTD_decompressStream(stream_, &to, &from);
    if (ZSTD_isError(expected) != 0) return Damaged(ZSTD_getErrorName(expected));
    in->remove_prefix(from.pos);
    whole_ = expected == 0;
    return to.pos;
  }

 private:
  ZSTD_DStream* const stream_;
};

class Lz4Decoder : public FrameDecoder {
 public:
  Lz4Decoder() : FrameDecoder("lz4") {
    has_memory_ = LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)) == 0;
  }
  ~Lz4Decoder() override { LZ4F_freeDecompressionContext(context_); }

  absl::StatusOr<size_t> Decode(absl::string_view* in, char* out, size_t capacity) override {
    if (in->empty() && whole_) return size_t{0};
    size_t made = capacity;
    size_t taken = in->size();
    const size_t expected =
        LZ4F_decompress(context_, out, &made, in->data(), &taken, /*options=*/nullptr);
    if (LZ4F_isError(expected) != 0) return Damaged(LZ4F_getErrorName(expected));
    in->remove_prefix(taken);
    whole_ = expected == 0;
    return made;
  }

 private:
  LZ4F_dctx* context_ = nullptr;
};

absl::StatusOr<std::unique_ptr<FrameDecoder>> MakeDecoder(Compression compression) {
  std::unique_ptr<FrameDecoder> decoder;
  if (compression == Compression::kBz2) decoder = std::make_unique<Bz2Decoder>();
  if (compression == Compression::kLz4) decoder = std::make_unique<Lz4Decoder>();
  if (compression == Compression::kZstd) decoder = std::make_unique<ZstdDecoder>();
  if (decoder == nullptr) return absl::InvalidArgumentError("there must be a compression");
  VOXLOC_TRY(decoder->CheckMemory());
  return decoder;
}

absl::StatusOr<std::string> DecompressUpTo(Compression compression, absl::string_view stored,
                                           uint64_t most) {
  if (compression == Compression::kNone) return std::string(stored);
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<FrameDecoder> decoder, MakeDecoder(compression));
  std::string out;
  size_t used = 0;
  // zstd: a frame may be followed by another one; other formats: trailing bytes are ignored.
  while (!decoder->whole() || (compression == Compression::kZstd && !stored.empty())) {
    // One byte more than allowed shows that there are too many.
    if (!GrowBuffer(used, most + 1, &out)) return decoder->Damaged("more bytes than declared");
    const size_t before = stored.size();
    VOXLOC_ASSIGN_OR_RETURN(const size_t made,
                            decoder->Decode(&stored, &out[used], out.size() - used));
    used += made;
    if (!decoder->whole() && made == 0 && stored.size() == before) {
      return decoder->Damaged("it ends early");
    }
  }
  out.resize(used);
  return out;
}

// The most bytes that may come out of a file: a day of the densest recordings.
constexpr uint64_t kMaxDecompressedBytes = uint64_t{4} << 40;

constexpr size_t kStepBytes = size_t{1} << 20;

absl::Status WriteFully(int descriptor, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      const std::string reason = std::generic_category().message(error);
      return error == ENOSPC || error == EDQUOT || error == EFBIG
                 ? absl::ResourceExhaustedError(reason)
                 : absl::UnavailableError(reason);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status DecompressInto(const RandomAccessFile& file, Compression compression, int descriptor,
                            uint64_t* bytes) {
  VOXLOC_ASSIGN_OR_RETURN(const std::unique_ptr<FrameDecoder> decoder, MakeDecoder(compression));
  std::string in;
  std::string out(kStepBytes, '\0');
  for (uint64_t offset = 0; offset < file.size();) {
    in.resize(static_cast<size_t>(std::min<uint64_t>(kStepBytes, file.size() - offset)));
    VOXLOC_TRY(file.Read(offset, in.size(), in.data()));
    offset += in.size();
    absl::string_view rest = in;
    bool full = false;
    while (!rest.empty() || full) {
      const size_t before = rest.size();
      VOXLOC_ASSIGN_OR_RETURN(const size_t made, decoder->Decode(&rest, out.data(), out.size()));
      if (made == 0 && before > 0 && rest.size() == before) {
        return absl::InvalidArgumentError("the compressed data are damaged");
      }
      *bytes += made;
      if (*bytes > kMaxDecompressedBytes) {
        return absl::ResourceExhaustedError(
            absl::StrCat("a file must decompress to at most ", kMaxDecompressedBytes, " bytes"));
      }
      VOXLOC_TRY(WriteFully(descriptor, absl::string_view(out).substr(0, made)));
      full = made == out.size();
    }
  }
  if (decoder->whole()) return absl::OkStatus();
  return absl::InvalidArgumentError("the compressed data end early");
}

class DecompressingCursor : public Cursor {
 public:
  DecompressingCursor(const BagContents& contents, std::unique_ptr<Cursor> cursor)
      : contents_(contents), cursor_(std::move(cursor)) {}

 private:
  absl::StatusOr<bool> Fetch(Message* message) override {
    const absl::StatusOr<bool> more = cursor_->Next(message);
    if (!more.ok() || !*more) return more;
    const Topic& topic = contents_.topics[message->topic];
    // Messages of other encodings may begin with anything.
    if (topic.encoding != "cdr") return true;
    const std::optional<Compression> compression = FrameCompressionOf(message->bytes);
    if (!compression.has_value()) return true;
    absl::StatusOr<std::string> plain =
        DecompressUpTo(*compression, message->bytes, kMaxChunkBytes);
    if (!plain.ok()) {
      return absl::Status(plain.status().code(), absl::StrCat("a message of ", topic.name, ": ",
                                                              plain.status().message()));
    }
    plain_ = *std::move(plain);
    message->bytes = plain_;
    return true;
  }

  const BagContents& contents_;
  const std::unique_ptr<Cursor> cursor_;
  std::string plain_;
};

}  // namespace

absl::StatusOr<Compression> CompressionNamed(absl::string_view name) {
  if (name.empty() || name == "none") return Compression::kNone;
  if (name == "bz2") return Compression::kBz2;
  if (name == "lz4") return Compression::kLz4;
  if (name == "zstd") return Compression::kZstd;
  return absl::InvalidArgumentError(
      absl::StrCat("the compression must be none, bz2, lz4 or zstd (got '", name, "')"));
}

absl::StatusOr<std::string> Decompress(Compression compression, absl::string_view stored,
                                       uint64_t size) {
  if (size > kMaxChunkBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a chunk must have at most ", kMaxChunkBytes, " bytes (got ", size, ")"));
  }
  absl::StatusOr<std::string> bytes = DecompressUpTo(compression, stored, size);
  if (bytes.ok() && bytes->size() != size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a chunk must have the ", size, " bytes that it declares (got ", bytes->size(), ")"));
  }
  return bytes;
}

std::optional<Compression> FrameCompressionOf(absl::string_view bytes) {
  // The magic numbers of RFC 8878, section 3.1.1, and of the LZ4 frame format.
  if (bytes.substr(0, 4) == absl::string_view("\x28\xB5\x2F\xFD", 4)) return Compression::kZstd;
  if (bytes.substr(0, 4) == absl::string_view("\x04\x22\x4D\x18", 4)) return Compression::kLz4;
  return std::nullopt;
}

absl::StatusOr<DecompressedFile> DecompressedFile::Create(const std::string& path,
                                                          Compression compression) {
  VOXLOC_ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  std::error_code error;
  const std::filesystem::path directory = std::filesystem::temp_directory_path(error);
  std::string name = (directory / "voxloc_bag_XXXXXX").string();
  const int descriptor = error ? -1 : ::mkstemp(name.data());
  if (descriptor < 0) {
    return absl::UnavailableError(absl::StrCat(path, ": there is no place to decompress it in ",
                                               directory.string(), " (TMPDIR sets another)"));
  }
  DecompressedFile decompressed(name);
  absl::Status status = DecompressInto(file, compression, descriptor, &decompressed.bytes_);
  if (::close(descriptor) != 0 && status.ok()) {
    status = absl::UnavailableError(std::generic_category().message(errno));
  }
  if (status.ok()) return decompressed;
  return absl::Status(
      status.code(),
      absl::StrCat(
          path, ": it cannot be decompressed to ", directory.string(),
          " (TMPDIR sets another place; 'zstd -d' does it beside the file): ", status.message()));
}

DecompressedFile::~DecompressedFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

std::unique_ptr<Cursor> MakeDecompressingCursor(const BagContents& contents,
                                                std::unique_ptr<Cursor> cursor) {
  return std::make_unique<DecompressingCursor>(contents, std::move(cursor));
}

}  // namespace voxloc::bag
