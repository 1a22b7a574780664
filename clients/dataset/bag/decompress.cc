// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/decompress.h"

#include <bzlib.h>
#include <lz4frame.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace voxloc::bag {
namespace {

// What is made room for at a time at least.
constexpr size_t kLeastStepBytes = size_t{64} << 10;

absl::Status Damaged(absl::string_view library, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("data compressed with ", library, " are damaged: ", reason));
}

// Room for the next bytes of `out`, of which `used` are taken: it doubles, up to `most`. False:
// there is no more.
bool MakeRoom(size_t used, uint64_t most, std::string* out) {
  if (used < out->size()) return true;
  if (out->size() >= most) return false;
  out->resize(static_cast<size_t>(
      std::min<uint64_t>(most, std::max<uint64_t>(2 * uint64_t{out->size()}, kLeastStepBytes))));
  return true;
}

absl::StatusOr<std::string> Bz2(absl::string_view stored, uint64_t most) {
  bz_stream stream = {};
  if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) {
    return absl::ResourceExhaustedError("there is no memory for bz2");
  }
  const std::unique_ptr<bz_stream, int (*)(bz_stream*)> end(&stream, BZ2_bzDecompressEnd);
  // bz2 takes no const pointer, and does not write there.
  stream.next_in = const_cast<char*>(stored.data());
  stream.avail_in = static_cast<unsigned>(stored.size());
  std::string out;
  size_t used = 0;
  while (true) {
    // One byte more than allowed shows that there are too many.
    if (!MakeRoom(used, most + 1, &out)) return Damaged("bz2", "more bytes than declared");
    stream.next_out = &out[used];
    stream.avail_out = static_cast<unsigned>(out.size() - used);
    const int result = BZ2_bzDecompress(&stream);
    const size_t before = used;
    used = out.size() - stream.avail_out;
    if (result == BZ_STREAM_END) break;
    if (result != BZ_OK) return Damaged("bz2", absl::StrCat("error ", result));
    if (stream.avail_in == 0 && used == before) return Damaged("bz2", "it ends early");
  }
  out.resize(used);
  return out;
}

absl::StatusOr<std::string> Lz4(absl::string_view stored, uint64_t most) {
  LZ4F_dctx* context = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) != 0) {
    return absl::ResourceExhaustedError("there is no memory for lz4");
  }
  const std::unique_ptr<LZ4F_dctx, LZ4F_errorCode_t (*)(LZ4F_dctx*)> free(
      context, LZ4F_freeDecompressionContext);
  std::string out;
  size_t used = 0;
  size_t expected = 1;
  while (expected != 0) {
    if (!MakeRoom(used, most + 1, &out)) return Damaged("lz4", "more bytes than declared");
    size_t written = out.size() - used;
    size_t taken = stored.size();
    expected =
        LZ4F_decompress(context, &out[used], &written, stored.data(), &taken, /*options=*/nullptr);
    if (LZ4F_isError(expected) != 0) return Damaged("lz4", LZ4F_getErrorName(expected));
    used += written;
    stored.remove_prefix(taken);
    if (expected != 0 && written == 0 && taken == 0) return Damaged("lz4", "it ends early");
  }
  out.resize(used);
  return out;
}

absl::StatusOr<std::string> Zstd(absl::string_view stored, uint64_t most) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  if (stream == nullptr) return absl::ResourceExhaustedError("there is no memory for zstd");
  ZSTD_inBuffer in = {stored.data(), stored.size(), 0};
  std::string out;
  size_t used = 0;
  size_t expected = 1;
  while (expected != 0 || in.pos < in.size) {
    if (!MakeRoom(used, most + 1, &out)) return Damaged("zstd", "more bytes than declared");
    ZSTD_outBuffer part = {&out[used], out.size() - used, 0};
    const size_t before = in.pos;
    expected = ZSTD_decompressStream(stream.get(), &part, &in);
    if (ZSTD_isError(expected) != 0) return Damaged("zstd", ZSTD_getErrorName(expected));
    used += part.pos;
    if (expected != 0 && part.pos == 0 && in.pos == before) return Damaged("zstd", "it ends early");
  }
  out.resize(used);
  return out;
}

absl::StatusOr<std::string> AtMost(Compression compression, absl::string_view stored,
                                   uint64_t most) {
  switch (compression) {
    case Compression::kBz2:
      return Bz2(stored, most);
    case Compression::kLz4:
      return Lz4(stored, most);
    case Compression::kZstd:
      return Zstd(stored, most);
    case Compression::kNone:
      break;
  }
  return std::string(stored);
}

class ZstdDecoder : public FrameDecoder {
 public:
  static absl::StatusOr<std::unique_ptr<FrameDecoder>> Create() {
    auto decoder = std::make_unique<ZstdDecoder>();
    if (decoder->stream_ == nullptr) return absl::ResourceExhaustedError("no memory for zstd");
    return decoder;
  }

  absl::StatusOr<size_t> Decode(absl::string_view* in, std::string* out) override {
    if (in->empty() && whole_) return size_t{0};
    ZSTD_inBuffer from = {in->data(), in->size(), 0};
    ZSTD_outBuffer to = {out->data(), out->size(), 0};
    const size_t expected = ZSTD_decompressStream(stream_.get(), &to, &from);
    if (ZSTD_isError(expected) != 0) return Damaged("zstd", ZSTD_getErrorName(expected));
    in->remove_prefix(from.pos);
    whole_ = expected == 0;
    return to.pos;
  }

 private:
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream_{ZSTD_createDStream(),
                                                                         ZSTD_freeDStream};
};

class Lz4Decoder : public FrameDecoder {
 public:
  static absl::StatusOr<std::unique_ptr<FrameDecoder>> Create() {
    LZ4F_dctx* context = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) != 0) {
      return absl::ResourceExhaustedError("no memory for lz4");
    }
    return std::unique_ptr<FrameDecoder>(new Lz4Decoder(context));
  }

  absl::StatusOr<size_t> Decode(absl::string_view* in, std::string* out) override {
    if (in->empty() && whole_) return size_t{0};
    size_t made = out->size();
    size_t taken = in->size();
    const size_t expected =
        LZ4F_decompress(context_.get(), out->data(), &made, in->data(), &taken, nullptr);
    if (LZ4F_isError(expected) != 0) return Damaged("lz4", LZ4F_getErrorName(expected));
    in->remove_prefix(taken);
    whole_ = expected == 0;
    return made;
  }

 private:
  explicit Lz4Decoder(LZ4F_dctx* context) : context_(context, LZ4F_freeDecompressionContext) {}

  const std::unique_ptr<LZ4F_dctx, LZ4F_errorCode_t (*)(LZ4F_dctx*)> context_;
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
  if (size > kMostChunkBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a chunk must have at most ", kMostChunkBytes, " bytes (got ", size, ")"));
  }
  absl::StatusOr<std::string> bytes = AtMost(compression, stored, size);
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

absl::StatusOr<std::string> DecompressFrame(Compression compression, absl::string_view stored) {
  return AtMost(compression, stored, kMostChunkBytes);
}

absl::StatusOr<std::unique_ptr<FrameDecoder>> FrameDecoder::Create(Compression compression) {
  switch (compression) {
    case Compression::kZstd:
      return ZstdDecoder::Create();
    case Compression::kLz4:
      return Lz4Decoder::Create();
    case Compression::kNone:
    case Compression::kBz2:
      break;
  }
  return absl::InvalidArgumentError("frames must be those of zstd or lz4");
}

}  // namespace voxloc::bag
