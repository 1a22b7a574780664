// SPDX-License-Identifier: Apache-2.0

#include "core/cloud/io/kitti_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {

namespace {

// A part of a file.
struct RecordSample {
  uint64_t offset = 0;  // bytes, a multiple of 4
  size_t size = 0;
  absl::string_view bytes = {};  // once they are read
};

constexpr uint64_t kWholeBytes = 256 << 10;
constexpr size_t kRangeBytes = 16 << 10;
constexpr size_t kRanges = 16;

// Candidate lengths. 3 and 7 are in use too: they are compared, so as not to detect them as 4 to 6.
constexpr size_t kCandidates[] = {3, 4, 5, 6, 7};
constexpr size_t kNuScenesFloats = 5;

// The log likelihood ratio from which the values decide.
constexpr double kDecisive = 10.0;

// If a record really is two records of half its length, the means of the halves differ by less than
// this fraction of the standard deviation.
constexpr double kSameMean = 0.7;
constexpr size_t kMinRecordsForMeans = 8;
// The same for few records, in standard deviations of the difference of two means.
constexpr double kChanceSigmas = 4.0;

// No coordinate of a scan or of a map is farther from zero, or nearer and not zero.
constexpr double kMaxOffset_m = 1e8;
constexpr double kMinOffset_m = 1e-20;
constexpr double kMaxImplausibleShare = 0.02;

struct Values {
  uint64_t first = 0;  // the number of the first in the file
  std::vector<double> raw;
  std::vector<double> scaled;  // large and small ones alike; what is not finite is far from all
};

std::vector<Values> ValuesOf(const std::vector<RecordSample>& samples) {
  constexpr double kNotFinite = 50.0;
  std::vector<Values> all;
  for (const RecordSample& sample : samples) {
    Values& values = all.emplace_back();
    values.first = sample.offset / sizeof(float);
    const size_t count = sample.bytes.size() / sizeof(float);
    for (size_t i = 0; i < count; ++i) {
      float value = 0.0F;
      std::memcpy(&value, sample.bytes.data() + i * sizeof(float), sizeof(float));
      values.raw.push_back(static_cast<double>(value));
      values.scaled.push_back(std::isfinite(value) ? std::asinh(values.raw.back()) : kNotFinite);
    }
  }
  return all;
}

// How much the values differ from their neighbours in the column, over all columns.
struct Dissimilarity {
  double per_value = std::numeric_limits<double>::infinity();  // minus twice a log likelihood
  double values = 0.0;
};

Dissimilarity MeasureDissimilarity(const std::vector<Values>& all, size_t floats) {
  constexpr double kSmallestSquare = 1e-4;
  std::vector<double> squares(floats, 0.0);
  std::vector<double> counts(floats, 0.0);
  for (const Values& values : all) {
    for (size_t i = floats; i < values.scaled.size(); ++i) {
      const size_t column = (values.first + i) % floats;
      const double difference = values.scaled[i] - values.scaled[i - floats];
      squares[column] += difference * difference;
      counts[column] += 1.0;
    }
  }
  Dissimilarity dissimilarity;
  double sum = 0.0;
  for (size_t column = 0; column < floats; ++column) {
    const double n = counts[column];
    if (n == 0.0) return {};
    // The logarithm of a mean of few squares is biased downwards; the added terms correct that.
    sum += std::log(kSmallestSquare + squares[column] / n) + 1.0 / n + 1.0 / (3.0 * n * n);
    dissimilarity.values += n;
  }
  dissimilarity.per_value = sum / static_cast<double>(floats);
  return dissimilarity;
}

bool IsDecisive(const Dissimilarity& better, const Dissimilarity& worse) {
  if (std::isinf(better.per_value)) return false;
  if (std::isinf(worse.per_value)) return true;
  const double values = std::min(better.values, worse.values);
  return 0.5 * values * (worse.per_value - better.per_value) > kDecisive;
}

// Whether the two halves of records of 2 * floats differ as different columns do. nullopt: there
// are too few records to decide.
std::optional<bool> HalvesDiffer(const std::vector<Values>& all, size_t floats) {
  const size_t both = 2 * floats;
  std::vector<double> sums(both, 0.0);
  std::vector<double> squares(both, 0.0);
  std::vector<double> counts(both, 0.0);
  for (const Values& values : all) {
    for (size_t i = 0; i < values.scaled.size(); ++i) {
      const size_t column = (values.first + i) % both;
      sums[column] += values.scaled[i];
      squares[column] += values.scaled[i] * values.scaled[i];
      counts[column] += 1.0;
    }
  }
  double share = kSameMean;
  for (size_t a = 0; a < floats; ++a) {
    const size_t b = a + floats;
    const double records = std::min(counts[a], counts[b]);
    if (records < kMinRecordsForMeans) return std::nullopt;
    share = std::max(share, kChanceSigmas * std::sqrt(2.0 / records));
    const double mean_a = sums[a] / counts[a];
    const double mean_b = sums[b] / counts[b];
    const double variance =
        0.5 * (squares[a] / counts[a] - mean_a * mean_a + squares[b] / counts[b] - mean_b * mean_b);
    const double difference = std::abs(mean_a - mean_b);
    if (difference > share * std::sqrt(std::max(variance, 0.0)) + 1e-3) return true;
  }
  if (share > kSameMean) return std::nullopt;
  return false;
}

// Whether the x y z of such records are plausible coordinates.
bool IsPlausible(const std::vector<Values>& all, size_t floats) {
  size_t coordinates = 0;
  size_t implausible = 0;
  for (const Values& values : all) {
    for (size_t i = 0; i < values.raw.size(); ++i) {
      if ((values.first + i) % floats > 2) continue;
      const double size = std::abs(values.raw[i]);
      ++coordinates;
      if (std::isfinite(size) && (size > kMaxOffset_m || (size > 0.0 && size < kMinOffset_m))) {
        ++implausible;
      }
    }
  }
  return static_cast<double>(implausible) <=
         kMaxImplausibleShare * static_cast<double>(coordinates);
}

bool AllZero(const std::vector<Values>& all) {
  return std::all_of(all.begin(), all.end(), [](const Values& values) {
    return std::all_of(values.raw.begin(), values.raw.end(), [](double v) { return v == 0.0; });
  });
}

absl::Status AmbiguousRecordError(absl::string_view name, absl::string_view why) {
  return Malformed(name,
                   "the number of float32 in a point's record must be given with "
                   "--record-floats (KITTI: 4, nuScenes: 5): ",
                   why);
}

absl::Status WrongSizeError(absl::string_view name, uint64_t file_bytes, size_t floats) {
  const uint64_t record_bytes = floats * sizeof(float);
  return MalformedByte(name, static_cast<size_t>(file_bytes - file_bytes % record_bytes),
                       "the size must be a multiple of ", record_bytes, " bytes, float32 x y z",
                       floats > 3 ? " intensity" : "", floats > 4 ? " and more" : "", " (got ",
                       file_bytes, "); set --record-floats for another record");
}

// The parts of a file of that size to sample.
std::vector<RecordSample> SamplesOf(uint64_t file_bytes) {
  if (file_bytes <= kWholeBytes) return {{0, static_cast<size_t>(file_bytes)}};
  std::vector<RecordSample> samples;
  for (size_t i = 0; i < kRanges; ++i) {
    const uint64_t offset = (file_bytes - kRangeBytes) / (kRanges - 1) * i;
    samples.push_back({offset - offset % sizeof(float), kRangeBytes});
  }
  return samples;
}

// See RecordFloatsOfFile. The values decide thus: in the right record a value resembles the one of
// the next point in the same column; in a wrong one it meets other columns.
absl::StatusOr<RecordFloats> ChooseRecordFloats(size_t requested, absl::string_view name,
                                                uint64_t file_bytes,
                                                const std::vector<RecordSample>& samples) {
  const auto fits = [&](size_t floats) { return file_bytes % (floats * sizeof(float)) == 0; };
  if (requested != 0) {
    if (requested < kMinRecordFloats || requested > kMaxRecordFloats) {
      return absl::InvalidArgumentError(absl::StrCat("--record-floats must be ", kMinRecordFloats,
                                                     " to ", kMaxRecordFloats, " (got ", requested,
                                                     ")"));
    }
    if (!fits(requested)) return WrongSizeError(name, file_bytes, requested);
    return RecordFloats{requested, RecordReason::kRequested};
  }
  const bool named = absl::EndsWithIgnoreCase(name, ".pcd.bin");
  if (named && !fits(kNuScenesFloats)) return WrongSizeError(name, file_bytes, kNuScenesFloats);
  if (!fits(4) && !fits(5) && !fits(6)) return WrongSizeError(name, file_bytes, 4);

  const std::vector<Values> all = ValuesOf(samples);
  Dissimilarity dissimilarity[8];
  for (const size_t floats : kCandidates) dissimilarity[floats] = MeasureDissimilarity(all, floats);
  size_t best = 0;
  for (const size_t floats : kCandidates) {
    if (!fits(floats)) continue;
    if (best == 0 || dissimilarity[floats].per_value < dissimilarity[best].per_value) best = floats;
  }
  bool decided = true;
  bool only_fit = true;
  for (const size_t floats : kCandidates) {
    if (floats == best) continue;
    only_fit = only_fit && !fits(floats);
    // KITTI's records are so common that others have to be better even where those do not fit.
    if (fits(floats) || floats == 4) {
      decided = decided && IsDecisive(dissimilarity[best], dissimilarity[floats]);
    }
  }
  RecordFloats chosen{best, RecordReason::kValues};
  if (AllZero(all) || (named && !decided)) {
    chosen = named ? RecordFloats{kNuScenesFloats, RecordReason::kName}
                   : RecordFloats{4, RecordReason::kSize};
    if (!fits(chosen.floats)) return WrongSizeError(name, file_bytes, chosen.floats);
  } else if (best == 4 && only_fit) {
    chosen.reason = RecordReason::kSize;
  } else if (!decided && fits(4) && !IsDecisive(dissimilarity[best], dissimilarity[4])) {
    // Nothing contradicts the most common record.
    chosen = {4, RecordReason::kName};
  } else if (!decided) {
    return AmbiguousRecordError(
        name, absl::StrCat("its ", file_bytes, " bytes fit several, and its values do not decide"));
  } else if (named && best != kNuScenesFloats) {
    return AmbiguousRecordError(name,
                                absl::StrCat("a .pcd.bin has 5, but the values look like ", best));
  } else if (named) {
    chosen.reason = RecordReason::kName;
  }
  if (chosen.floats < 4 || chosen.floats > 6) {
    return AmbiguousRecordError(name, absl::StrCat("the values look like ", chosen.floats));
  }
  if (chosen.floats == 4 && fits(8) && HalvesDiffer(all, 4) == true) {
    return AmbiguousRecordError(name, "the values look like 8");
  }
  if (chosen.floats == 6 && fits(3) && HalvesDiffer(all, 3) == false) {
    return AmbiguousRecordError(name, "the values look like 3 or 6");
  }
  if (!IsPlausible(all, chosen.floats)) {
    return AmbiguousRecordError(name,
                                absl::StrCat("as records of ", chosen.floats,
                                             " the coordinates are not plausible; is it a file of "
                                             "float32 at all?"));
  }
  return chosen;
}

}  // namespace

absl::StatusOr<RecordFloats> RecordFloatsOfFile(const RandomAccessFile& file,
                                                absl::string_view name, size_t requested) {
  std::vector<RecordSample> samples = SamplesOf(file.size());
  std::vector<std::string> parts;
  parts.reserve(samples.size());
  for (RecordSample& sample : samples) {
    std::string& part = parts.emplace_back(sample.size, '\0');
    VOXLOC_TRY(file.Read(sample.offset, part.size(), part.data()));
    sample.bytes = part;
  }
  return ChooseRecordFloats(requested, name, file.size(), samples);
}

absl::StatusOr<PointCloud> ParseKittiBin(absl::string_view bytes, absl::string_view name,
                                         size_t max_points, size_t record_floats) {
  std::vector<RecordSample> samples = SamplesOf(bytes.size());
  for (RecordSample& sample : samples) sample.bytes = bytes.substr(sample.offset, sample.size);
  VOXLOC_ASSIGN_OR_RETURN(const RecordFloats record,
                          ChooseRecordFloats(record_floats, name, bytes.size(), samples));
  const RecordLayout records = ScalarRecords(ScalarType::kFloat32, record.floats);
  const size_t count = bytes.size() / records.record_bytes;
  if (count > max_points) {
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": must have at most ", max_points, " points (got ", count, ")"));
  }
  return CloudFromColumns(records.ColumnsOf(bytes.data(), count));
}

}  // namespace voxloc
