// SPDX-License-Identifier: Apache-2.0

#include "core/map/tile_codec.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/checksum/crc32c.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are written as they lie");
static_assert(sizeof(ndt::CellMoments) == 10 * 8 && sizeof(FloatSum) == 3 * 4,
              "without gaps, as the format has them");

constexpr absl::string_view kMagic = "VXTM";
constexpr size_t kCrcBytes = 4;
constexpr size_t kTileHeaderBytes = 4 + 4 + 8 + 8 + 3 * 8 + 4;
constexpr size_t kLatticeHeaderBytes = 8 + 4 + 4 + 4;
constexpr size_t kBlockBytes = 4 * 4;
// One lattice per cell size of a profile's stage; a profile has at most eight stages. Far more than
// the profiles of a server need.
constexpr size_t kMaxLattices = 64;

size_t CellBytes(bool float_sums) {
  return sizeof(uint16_t) + sizeof(ndt::CellMoments) + (float_sums ? sizeof(FloatSum) : 0);
}

bool HasFloatSums(const TileMoments& lattice) { return !lattice.float_sums.empty(); }

template <typename T>
void Append(const T& value, std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
void AppendAll(const std::vector<T>& values, std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (values.empty()) return;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

void AppendLattice(const TileMoments& lattice, std::string& bytes) {
  Append(lattice.cell_size_m, bytes);
  Append(uint32_t{HasFloatSums(lattice) ? 1U : 0U}, bytes);
  Append(static_cast<uint32_t>(lattice.blocks.size()), bytes);
  Append(static_cast<uint32_t>(lattice.cells()), bytes);
  for (const TileMoments::Block& block : lattice.blocks) {
    for (const int32_t index : {block.key.x, block.key.y, block.key.z}) Append(index, bytes);
    Append(block.end - block.begin, bytes);
  }
  AppendAll(lattice.places, bytes);
  AppendAll(lattice.moments, bytes);
  AppendAll(lattice.float_sums, bytes);
}

// Reads from the front. The caller checks the number of bytes before every read.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] size_t remaining() const { return bytes_.size(); }
  template <typename T>
  T Read() {
    T value;
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_.remove_prefix(sizeof(value));
    return value;
  }
  template <typename T>
  void ReadAll(size_t count, std::vector<T>& values) {
    values.resize(count);
    if (count == 0) return;
    std::memcpy(static_cast<void*>(values.data()), bytes_.data(), count * sizeof(T));
    bytes_.remove_prefix(count * sizeof(T));
  }

 private:
  absl::string_view bytes_;
};

template <typename... Parts>
absl::Status DamagedError(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat("the bytes of the tile are damaged: ", parts...));
}

// Whether moments can be those of points in a cell of this size: a mean beyond it would lie in no
// cell of the map.
bool IsPlausible(const ndt::CellMoments& m, double cell_size_m) {
  const double reach = static_cast<double>(m.count) * cell_size_m;
  const double outer = std::abs(m.outer.xx) + std::abs(m.outer.xy) + std::abs(m.outer.xz) +
                       std::abs(m.outer.yy) + std::abs(m.outer.yz) + std::abs(m.outer.zz);
  return std::abs(m.sum.x) <= reach && std::abs(m.sum.y) <= reach && std::abs(m.sum.z) <= reach &&
         std::isfinite(outer);
}

// The same of the float index.
bool IsPlausible(const FloatSum& sum, uint64_t count, const TileMoments& lattice) {
  const auto n = static_cast<float>(count);
  const Eigen::Vector3d index =
      lattice.origin + Eigen::Vector3f(sum.x / n, sum.y / n, sum.z / n).cast<double>();
  return (index.array().abs() < kMaxCellIndex * lattice.cell_size_m).all();
}

// Checks that the checksum does not replace: the bytes may be forged.
absl::Status CheckLattice(const TileMoments& lattice) {
  constexpr int32_t kMaxBlock = kMaxCellIndex / kBlockSize;
  for (size_t b = 0; b < lattice.blocks.size(); ++b) {
    const TileMoments::Block& block = lattice.blocks[b];
    for (const int32_t index : {block.key.x, block.key.y, block.key.z}) {
      if (index < -kMaxBlock || index > kMaxBlock) return DamagedError("a block lies at ", index);
    }
    if (b > 0 && !(lattice.blocks[b - 1].key < block.key))
      return DamagedError("blocks do not ascend");
    for (uint32_t i = block.begin; i < block.end; ++i) {
      if (lattice.places[i] >= kBlockCells)
        return DamagedError("a cell has place ", lattice.places[i]);
      if (i > block.begin && lattice.places[i] <= lattice.places[i - 1]) {
        return DamagedError("the cells of a block do not ascend");
      }
    }
  }
  uint64_t points = 0;
  for (size_t i = 0; i < lattice.cells(); ++i) {
    const ndt::CellMoments& moments = lattice.moments[i];
    if (moments.count == 0 || moments.count > lattice.points) {
      return DamagedError("a cell has ", moments.count, " of ", lattice.points, " points");
    }
    if (!IsPlausible(moments, lattice.cell_size_m))
      return DamagedError("a cell's mean is outside it");
    if (HasFloatSums(lattice) && !IsPlausible(lattice.float_sums[i], moments.count, lattice)) {
      return DamagedError("a cell's float sum lies outside the map");
    }
    points += moments.count;
    if (points > lattice.points) break;  // before it can wrap around
  }
  if (points != lattice.points) {
    return DamagedError("the cells have ", points, " points, the tile ", lattice.points);
  }
  return absl::OkStatus();
}

// `lattice` already has the fields that all lattices of the tile share.
absl::Status ReadLattice(Reader& reader, TileMoments& lattice) {
  if (reader.remaining() < kLatticeHeaderBytes) return DamagedError("they end within a lattice");
  lattice.cell_size_m = reader.Read<double>();
  const auto float_sums = reader.Read<uint32_t>();
  const auto blocks = reader.Read<uint32_t>();
  const auto cells = reader.Read<uint32_t>();
  if (!(lattice.cell_size_m > 0.0) || !std::isfinite(lattice.cell_size_m)) {
    return DamagedError("cells of ", lattice.cell_size_m, " m");
  }
  if (float_sums > 1) return DamagedError("float sums are ", float_sums);
  // 32-bit counts of at most 94 bytes: no overflow.
  if (reader.remaining() <
      size_t{blocks} * kBlockBytes + size_t{cells} * CellBytes(float_sums == 1)) {
    return DamagedError("they end within the cells of ", lattice.cell_size_m, " m");
  }
  lattice.blocks.reserve(blocks);
  uint32_t begin = 0;
  for (uint32_t b = 0; b < blocks; ++b) {
    TileMoments::Block block;
    block.key.x = reader.Read<int32_t>();
    block.key.y = reader.Read<int32_t>();
    block.key.z = reader.Read<int32_t>();
    const auto count = reader.Read<uint32_t>();
    if (count == 0 || count > kBlockCells || count > cells - begin) {
      return DamagedError("a block has ", count, " cells");
    }
    block.begin = begin;
    block.end = begin += count;
    lattice.blocks.push_back(block);
  }
  if (begin != cells) return DamagedError("the blocks have ", begin, " cells, the lattice ", cells);
  reader.ReadAll(cells, lattice.places);
  reader.ReadAll(cells, lattice.moments);
  if (float_sums == 1) reader.ReadAll(cells, lattice.float_sums);
  return CheckLattice(lattice);
}

}  // namespace

absl::StatusOr<std::string> EncodeTile(absl::Span<const TileMoments* const> lattices) {
  if (lattices.empty() || lattices.size() > kMaxLattices) {
    return absl::InvalidArgumentError(absl::StrCat("a tile must have 1 to ", kMaxLattices,
                                                   " lattices (got ", lattices.size(), ")"));
  }
  const TileMoments& first = *lattices[0];
  size_t size = kTileHeaderBytes + kCrcBytes;
  for (size_t i = 0; i < lattices.size(); ++i) {
    const TileMoments& lattice = *lattices[i];
    if (i > 0 && !(lattices[i - 1]->cell_size_m < lattice.cell_size_m)) {
      return absl::InvalidArgumentError("the lattices of a tile must ascend by cell size");
    }
    if (lattice.points != first.points || lattice.not_finite != first.not_finite ||
        lattice.origin != first.origin) {
      return absl::InvalidArgumentError("the lattices are not of one tile");
    }
    size += kLatticeHeaderBytes + lattice.blocks.size() * kBlockBytes +
            lattice.cells() * CellBytes(HasFloatSums(lattice));
  }
  std::string bytes;
  bytes.reserve(size);
  bytes.append(kMagic.data(), kMagic.size());
  Append(kTileCodecVersion, bytes);
  Append(uint64_t{first.points}, bytes);
  Append(uint64_t{first.not_finite}, bytes);
  for (const double coordinate : first.origin) Append(coordinate, bytes);
  Append(static_cast<uint32_t>(lattices.size()), bytes);
  for (const TileMoments* lattice : lattices) AppendLattice(*lattice, bytes);
  Append(Crc32c(bytes), bytes);
  return bytes;
}

absl::StatusOr<std::vector<TileMoments>> DecodeTile(absl::string_view bytes) {
  if (bytes.size() < kMagic.size() + sizeof(uint32_t) + kCrcBytes) {
    return DamagedError("there are only ", bytes.size());
  }
  const absl::string_view content = bytes.substr(0, bytes.size() - kCrcBytes);
  if (content.substr(0, kMagic.size()) != kMagic)
    return DamagedError("they do not begin as a tile");
  if (Reader(bytes.substr(content.size())).Read<uint32_t>() != Crc32c(content)) {
    return DamagedError("their checksum is another");
  }
  Reader reader(content.substr(kMagic.size()));
  if (const auto version = reader.Read<uint32_t>(); version != kTileCodecVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the tile was written in version ", version,
                                                      ", this is version ", kTileCodecVersion));
  }
  if (content.size() < kTileHeaderBytes) return DamagedError("there are only ", bytes.size());
  TileMoments common;
  common.points = reader.Read<uint64_t>();
  common.not_finite = reader.Read<uint64_t>();
  for (double& coordinate : common.origin) coordinate = reader.Read<double>();
  const auto count = reader.Read<uint32_t>();
  if (!common.origin.allFinite()) return DamagedError("the origin is not finite");
  if (common.points == 0) return DamagedError("the tile has no point");
  if (count == 0 || count > kMaxLattices) return DamagedError("there are ", count, " lattices");
  std::vector<TileMoments> lattices;
  for (uint32_t i = 0; i < count; ++i) {
    TileMoments lattice = common;
    VOXLOC_TRY(ReadLattice(reader, lattice));
    if (i > 0 && !(lattices.back().cell_size_m < lattice.cell_size_m)) {
      return DamagedError("lattices do not ascend");
    }
    lattices.push_back(std::move(lattice));
  }
  if (reader.remaining() > 0) return DamagedError("there are ", reader.remaining(), " too many");
  return lattices;
}

}  // namespace voxloc
