// SPDX-License-Identifier: Apache-2.0

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "clients/dataset/bag/bag.h"
#include "clients/dataset/bag/decompress.h"
#include "core/status/try.h"

namespace voxloc::bag {
namespace {

struct CloseConnection {
  void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
};
using Connection = std::unique_ptr<sqlite3, CloseConnection>;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

std::string TextAt(sqlite3_stmt* row, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  return text == nullptr
             ? std::string()
             : std::string(text, static_cast<size_t>(sqlite3_column_bytes(row, column)));
}

class SqliteBag : public Bag {
 public:
  SqliteBag(std::string path, Connection connection)
      : path_(std::move(path)), connection_(std::move(connection)) {}

  absl::StatusOr<std::unique_ptr<Cursor>> Read(const std::vector<size_t>& topics) const override;

  absl::Status ReadContents() {
    VOXLOC_TRY(RequireTables());
    VOXLOC_TRY(RequireWholePages());
    VOXLOC_ASSIGN_OR_RETURN(
        const Statement topics,
        Prepare("SELECT id, name, type, serialization_format FROM topics ORDER BY id"));
    while (true) {
      VOXLOC_ASSIGN_OR_RETURN(const bool row, Step(topics));
      if (!row) break;
      topic_of_id_.try_emplace(sqlite3_column_int64(topics.get(), 0), contents_.topics.size());
      contents_.topics.push_back(
          {TextAt(topics.get(), 1), TextAt(topics.get(), 2), TextAt(topics.get(), 3), 0});
    }
    VOXLOC_ASSIGN_OR_RETURN(
        const Statement counts,
        Prepare("SELECT topic_id, COUNT(*), MIN(timestamp), MAX(timestamp) FROM "
                "messages GROUP BY topic_id"));
    bool first = true;
    while (true) {
      VOXLOC_ASSIGN_OR_RETURN(const bool row, Step(counts));
      if (!row) break;
      const size_t* topic = TopicOf(sqlite3_column_int64(counts.get(), 0));
      if (topic == nullptr) continue;
      contents_.topics[*topic].messages =
          static_cast<uint64_t>(sqlite3_column_int64(counts.get(), 1));
      const int64_t first_ns = sqlite3_column_int64(counts.get(), 2);
      const int64_t last_ns = sqlite3_column_int64(counts.get(), 3);
      contents_.first_ns = first ? first_ns : std::min(contents_.first_ns, first_ns);
      contents_.last_ns = first ? last_ns : std::max(contents_.last_ns, last_ns);
      first = false;
    }
    contents_.format = "rosbag2 (SQLite)";
    return absl::OkStatus();
  }

  absl::StatusOr<Statement> Prepare(const std::string& sql) const {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
      return Error();
    }
    return Statement(statement);
  }

  // Whether there is a row.
  absl::StatusOr<bool> Step(const Statement& statement) const {
    const int result = sqlite3_step(statement.get());
    if (result == SQLITE_ROW) return true;
    if (result == SQLITE_DONE) return false;
    return Error();
  }

  absl::Status Error() const {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, " cannot be read as rosbag2's SQLite: ", sqlite3_errmsg(connection_.get())));
  }

  // Nothing: a message of a topic that the file does not list.
  const size_t* TopicOf(int64_t id) const {
    const auto found = topic_of_id_.find(id);
    return found == topic_of_id_.end() ? nullptr : &found->second;
  }

 private:
  absl::Status RequireTables() const {
    for (const char* name : {"topics", "messages"}) {
      VOXLOC_ASSIGN_OR_RETURN(
          const Statement statement,
          Prepare(absl::StrCat("SELECT 1 FROM sqlite_master WHERE name = '", name,
                               "' AND type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")));
      VOXLOC_ASSIGN_OR_RETURN(const bool found, Step(statement));
      if (!found) {
        return absl::InvalidArgumentError(absl::StrCat(
            path_, " must be rosbag2's SQLite, which has a table '", name, "' (there is none)"));
      }
    }
    return absl::OkStatus();
  }

  // SQLite reads the missing part of an incomplete last page as zeros.
  absl::Status RequireWholePages() const {
    VOXLOC_ASSIGN_OR_RETURN(const Statement statement, Prepare("PRAGMA page_size"));
    VOXLOC_ASSIGN_OR_RETURN(const bool row, Step(statement));
    const int64_t page_bytes = row ? sqlite3_column_int64(statement.get(), 0) : 0;
    std::error_code error;
    const uint64_t file_bytes = std::filesystem::file_size(path_, error);
    if (!error && page_bytes > 0 && file_bytes % static_cast<uint64_t>(page_bytes) == 0) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(path_, " must have whole pages of ", page_bytes,
                                                   " bytes (got ", file_bytes,
                                                   " bytes: it is cut off)"));
  }

  const std::string path_;
  const Connection connection_;
  absl::flat_hash_map<int64_t, size_t> topic_of_id_;
};

class SqliteCursor : public Cursor {
 public:
  SqliteCursor(const SqliteBag& bag, Statement order, Statement data)
      : bag_(bag), order_(std::move(order)), data_(std::move(data)) {}

 private:
  absl::StatusOr<bool> Fetch(Message* message) override {
    const absl::StatusOr<bool> row = bag_.Step(order_);
    if (!row.ok() || !*row) return row;
    const size_t* topic = bag_.TopicOf(sqlite3_column_int64(order_.get(), 1));
    if (topic == nullptr) return absl::InternalError("a message of a topic that was not asked for");
    message->topic = *topic;
    message->recorded_ns = sqlite3_column_int64(order_.get(), 2);
    sqlite3_reset(data_.get());
    sqlite3_bind_int64(data_.get(), 1, sqlite3_column_int64(order_.get(), 0));
    VOXLOC_ASSIGN_OR_RETURN(const bool found, bag_.Step(data_));
    const auto* bytes =
        found ? static_cast<const char*>(sqlite3_column_blob(data_.get(), 0)) : nullptr;
    message->bytes = {};
    if (bytes == nullptr) return true;  // decoders refuse an empty message
    message->bytes =
        absl::string_view(bytes, static_cast<size_t>(sqlite3_column_bytes(data_.get(), 0)));
    return true;
  }

  const SqliteBag& bag_;
  const Statement order_;
  const Statement data_;
};

absl::StatusOr<std::unique_ptr<Cursor>> SqliteBag::Read(const std::vector<size_t>& topics) const {
  std::vector<int64_t> ids;
  for (const auto& [id, topic] : topic_of_id_) {
    if (std::find(topics.begin(), topics.end(), topic) != topics.end()) ids.push_back(id);
  }
  // Numbers of rows are put in order, not the messages themselves, where the file has no index of
  // times.
  VOXLOC_ASSIGN_OR_RETURN(
      Statement order,
      Prepare(absl::StrCat("SELECT rowid, topic_id, timestamp FROM messages WHERE topic_id IN (",
                           absl::StrJoin(ids, ","), ") ORDER BY timestamp, rowid")));
  VOXLOC_ASSIGN_OR_RETURN(Statement data, Prepare("SELECT data FROM messages WHERE rowid = ?1"));
  return MakeDecompressingCursor(
      contents_, std::make_unique<SqliteCursor>(*this, std::move(order), std::move(data)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bag>> OpenSqliteBag(const std::string& path) {
  // A file without a pending journal is opened as immutable, so that it can be read from a
  // directory that SQLite cannot write to.
  const bool unfinished = ::access(absl::StrCat(path, "-wal").c_str(), F_OK) == 0 ||
                          ::access(absl::StrCat(path, "-journal").c_str(), F_OK) == 0;
  // These characters have a meaning in a URI.
  const std::string escaped = absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}});
  const std::string uri = absl::StrCat("file:", escaped, unfinished ? "" : "?immutable=1");
  sqlite3* opened = nullptr;
  const int result =
      sqlite3_open_v2(uri.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  Connection connection(opened);
  if (result != SQLITE_OK) {
    return absl::UnavailableError(absl::StrCat(path, ": ", sqlite3_errstr(result)));
  }
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, static_cast<int>(kMaxChunkBytes));
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  auto bag = std::make_unique<SqliteBag>(path, std::move(connection));
  VOXLOC_TRY(bag->ReadContents());
  return bag;
}

}  // namespace voxloc::bag
