// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/bag/bag.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "clients/dataset/bag/decompress.h"
#include "clients/dataset/yaml_file.h"
#include "core/cloud/io/file_bytes.h"
#include "core/status/try.h"
#include "core/text/names.h"

namespace voxloc::bag {
namespace {

namespace fs = std::filesystem;

// What every SQLite file begins with (https://sqlite.org/fileformat.html, section 1.3).
constexpr absl::string_view kSqliteMagic("SQLite format 3\0", 16);

// rosbag2 describes a directory of files here.
constexpr char kMetadataFile[] = "metadata.yaml";

// Endings of files that rosbag2 (its compression mode FILE) or a user has compressed as a whole.
constexpr absl::string_view kCompressionSuffixes[] = {".zstd", ".zst", ".lz4"};

// The name without such an ending.
absl::string_view WithoutCompressionSuffix(absl::string_view name) {
  for (const absl::string_view end : kCompressionSuffixes) {
    if (absl::EndsWith(name, end)) return absl::StripSuffix(name, end);
  }
  return name;
}

bool IsBagFile(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const char* end : {".db3", ".mcap", ".bag"}) {
    if (absl::EndsWith(WithoutCompressionSuffix(name), end)) return true;
  }
  return false;
}

// A file of that name, or where it is not there, with or without an ending of compression: files
// are decompressed, and metadata keeps their old names. nullopt: none.
std::optional<fs::path> FindBagFile(const fs::path& directory, const std::string& name) {
  std::error_code error;
  const std::string plain(WithoutCompressionSuffix(name));
  std::vector<std::string> names = {plain, name};
  for (const absl::string_view end : kCompressionSuffixes) {
    names.push_back(absl::StrCat(plain, end));
  }
  for (const std::string& candidate : names) {
    if (fs::exists(directory / candidate, error)) return directory / candidate;
  }
  return std::nullopt;
}

// The files that rosbag2's metadata.yaml names.
absl::StatusOr<std::vector<std::string>> FilesOfMetadata(const fs::path& directory) {
  std::vector<std::string> files;
  const std::string path = (directory / kMetadataFile).string();
  VOXLOC_TRY(ReadYamlFile(path, [&](const YAML::Node& document) -> absl::Status {
    const YAML::Node list = document["rosbag2_bagfile_information"]["relative_file_paths"];
    if (!list.IsSequence() || list.size() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, " must name the bag's files in rosbag2_bagfile_information.relative_file_paths"));
    }
    for (const YAML::Node& file : list) {
      // Older recorders name the directory as well.
      const fs::path name = fs::path(file.as<std::string>()).filename();
      const std::optional<fs::path> found = FindBagFile(directory, name.string());
      if (!found.has_value()) {
        return absl::NotFoundError(
            absl::StrCat(path, " names ", name.string(), ", which is not in the directory"));
      }
      files.push_back(found->string());
    }
    return absl::OkStatus();
  }));
  return files;
}

absl::StatusOr<std::vector<std::string>> FilesOf(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  if (fs::exists(fs::path(path) / kMetadataFile, error)) return FilesOfMetadata(path);
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    // Decompressed files lie beside what they were made of.
    const std::string name = entry.path().filename().string();
    if (IsBagFile(entry.path()) && FindBagFile(path, name)->filename().string() == name) {
      files.push_back(entry.path().string());
    }
  }
  if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
  if (files.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " must have metadata.yaml or files .db3, .mcap or .bag (there are none)"));
  }
  std::sort(files.begin(), files.end(), NaturalLess);
  return files;
}

// A file, and where its topics are in the list of all.
struct Part {
  std::unique_ptr<Bag> bag;
  std::vector<size_t> topics;
};

class JoinedCursor : public Cursor {
 public:
  JoinedCursor(const std::vector<Part>& parts, std::vector<size_t> selected)
      : parts_(parts), selected_(std::move(selected)) {}

 private:
  absl::StatusOr<bool> Fetch(Message* message) override {
    while (true) {
      if (cursor_ == nullptr) {
        if (next_part_ == parts_.size()) return false;
        VOXLOC_ASSIGN_OR_RETURN(cursor_, Open(parts_[next_part_++]));
      }
      VOXLOC_ASSIGN_OR_RETURN(const bool more, cursor_->Next(message));
      if (more) {
        message->topic = parts_[next_part_ - 1].topics[message->topic];
        return true;
      }
      cursor_ = nullptr;
    }
  }

  absl::StatusOr<std::unique_ptr<Cursor>> Open(const Part& part) const {
    std::vector<size_t> topics;
    for (size_t i = 0; i < part.topics.size(); ++i) {
      if (absl::c_linear_search(selected_, part.topics[i])) topics.push_back(i);
    }
    return part.bag->Read(topics);
  }

  const std::vector<Part>& parts_;
  const std::vector<size_t> selected_;
  size_t next_part_ = 0;
  std::unique_ptr<Cursor> cursor_;  // of the part before next_part_
};

// Several files of one recording, since recorders begin a new file when one is full; or one, with
// more to say. Files are read one after the other; files without messages give their topics.
class JoinedBag : public Bag {
 public:
  explicit JoinedBag(std::vector<std::unique_ptr<Bag>> bags) {
    contents_.format = bags.front()->contents().format;
    for (std::unique_ptr<Bag>& bag : bags) Add(std::move(bag));
  }
  JoinedBag(std::unique_ptr<Bag> bag, std::string remark) {
    contents_.format = bag->contents().format;
    Add(std::move(bag));
    contents_.remarks.push_back(std::move(remark));
  }

  absl::StatusOr<std::unique_ptr<Cursor>> Read(const std::vector<size_t>& topics) const override {
    return std::make_unique<JoinedCursor>(parts_, topics);
  }

 private:
  void Add(std::unique_ptr<Bag> bag) {
    const BagContents& contents = bag->contents();
    if (contents.messages() > 0) {
      const bool first = contents_.messages() == 0;
      contents_.first_ns =
          first ? contents.first_ns : std::min(contents_.first_ns, contents.first_ns);
      contents_.last_ns = first ? contents.last_ns : std::max(contents_.last_ns, contents.last_ns);
    }
    contents_.remarks.insert(contents_.remarks.end(), contents.remarks.begin(),
                             contents.remarks.end());
    Part part;
    for (const Topic& topic : contents.topics) part.topics.push_back(contents_.AddTopic(topic));
    part.bag = std::move(bag);
    parts_.push_back(std::move(part));
  }

  std::vector<Part> parts_;
};

absl::StatusOr<std::unique_ptr<Bag>> OpenFile(const std::string& path, bool decompressed) {
  VOXLOC_ASSIGN_OR_RETURN(const RandomAccessFile file, RandomAccessFile::Open(path));
  std::string start(std::min<uint64_t>(file.size(), kSqliteMagic.size()), '\0');
  VOXLOC_TRY(file.Read(0, start.size(), start.data()));
  if (start == kSqliteMagic) return OpenSqliteBag(path);
  if (absl::StartsWith(start, "\x89MCAP")) return OpenMcapBag(path);
  if (absl::StartsWith(start, "#ROSBAG")) return OpenRos1Bag(path);
  const std::optional<Compression> compression = FrameCompressionOf(start);
  if (!compression.has_value() || decompressed) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " must be a bag: rosbag2 with SQLite (.db3), MCAP (.mcap) or ROS 1 (.bag)"));
  }
  VOXLOC_ASSIGN_OR_RETURN(const DecompressedFile plain,
                          DecompressedFile::Create(path, *compression));
  absl::StatusOr<std::unique_ptr<Bag>> bag = OpenFile(plain.path(), /*decompressed=*/true);
  if (!bag.ok()) {
    return absl::Status(bag.status().code(),
                        absl::StrReplaceAll(bag.status().message(), {{plain.path(), path}}));
  }
  return std::make_unique<JoinedBag>(
      *std::move(bag), absl::StrCat(path,
                                    " is compressed as a whole, and is read from a temporary "
                                    "file of ",
                                    plain.bytes(), " bytes"));
}

}  // namespace

std::string Topic::Type() const {
  const size_t slash = type.find('/');
  if (slash == std::string::npos || type.find('/', slash + 1) != std::string::npos) return type;
  return absl::StrCat(type.substr(0, slash), "/msg", type.substr(slash));
}

size_t BagContents::AddTopic(const Topic& topic) {
  const auto same = absl::c_find_if(topics, [&topic](const Topic& known) {
    return known.name == topic.name && known.type == topic.type && known.encoding == topic.encoding;
  });
  const auto index = static_cast<size_t>(same - topics.begin());
  if (same == topics.end()) {
    topics.push_back(topic);
  } else {
    same->messages += topic.messages;
  }
  return index;
}

absl::StatusOr<std::unique_ptr<Bag>> OpenBag(const std::vector<std::string>& paths) {
  if (paths.empty()) return absl::InvalidArgumentError("a bag must have at least one file");
  std::vector<std::unique_ptr<Bag>> bags;
  for (const std::string& path : paths) {
    VOXLOC_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(path));
    for (const std::string& file : files) {
      VOXLOC_ASSIGN_OR_RETURN(std::unique_ptr<Bag> bag, OpenFile(file, /*decompressed=*/false));
      bags.push_back(std::move(bag));
    }
  }
  if (bags.size() == 1) return std::move(bags.front());
  // In the order of their first messages.
  absl::c_stable_sort(bags, [](const std::unique_ptr<Bag>& a, const std::unique_ptr<Bag>& b) {
    return a->contents().first_ns < b->contents().first_ns;
  });
  return std::make_unique<JoinedBag>(std::move(bags));
}

}  // namespace voxloc::bag
