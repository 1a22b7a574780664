// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/sqlite_database.h"

#include <algorithm>
#include <cstddef>
#include <variant>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/status/try.h"

namespace voxloc::server {
namespace {

// Only another process can have the file locked, such as a person's sqlite3: a moment, or for long.
constexpr int kBusyTimeoutMs = 2000;
constexpr size_t kMaxFindings = 8;

absl::StatusCode CodeOf(int extended) {
  if (extended == SQLITE_IOERR_CORRUPTFS) return absl::StatusCode::kDataLoss;
  // The index of the log cannot grow.
  if (extended == SQLITE_IOERR_SHMSIZE) return absl::StatusCode::kResourceExhausted;
  switch (extended & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return absl::StatusCode::kFailedPrecondition;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path,
                                                                     Access access) {
  int flags = SQLITE_OPEN_NOMUTEX;
  flags |= access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (access == Access::kCreate) flags |= SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  if (handle == nullptr) return absl::ResourceExhaustedError(path + ": out of memory");
  auto database = absl::WrapUnique(new SqliteDatabase(path, handle));
  if (code != SQLITE_OK) return database->Error(code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  // No automatic checkpoints: the log is checkpointed explicitly. A hook in place of SQLite's own
  // stops it from moving the log's pages by itself, which would hide an error of that.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_wal_hook(
      handle,
      [](void* self, sqlite3* /*handle*/, const char* /*schema*/, int pages) {
        static_cast<SqliteDatabase*>(self)->wal_pages_ = pages;
        return SQLITE_OK;
      },
      database.get());
  return database;
}

SqliteDatabase::~SqliteDatabase() {
  for (const auto& [sql, statements] : idle_statements_) {
    for (sqlite3_stmt* const statement : statements) sqlite3_finalize(statement);
  }
  sqlite3_close_v2(handle_);
}

absl::Status SqliteDatabase::Error(int code) {
  const int extended = sqlite3_extended_errcode(handle_);
  if ((extended & 0xff) == (code & 0xff)) code = extended;
  if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC) sync_failed_ = true;
  return {CodeOf(code), absl::StrCat(name(), ": ", sqlite3_errmsg(handle_), " (SQLite's code ",
                                     code, ", ", sqlite3_errstr(code), ")")};
}

absl::Status SqliteDatabase::Execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::Status SqliteDatabase::Transaction(Begin begin, absl::FunctionRef<absl::Status()> body) {
  VOXLOC_TRY(Run(begin == Begin::kImmediate ? "BEGIN IMMEDIATE" : "BEGIN"));
  absl::Status status = body();
  if (status.ok()) status = Run("COMMIT");
  // After some errors SQLite has rolled back by itself.
  if (!status.ok() && sqlite3_get_autocommit(handle_) == 0) Run("ROLLBACK").IgnoreError();
  return status;
}

void SqliteDatabase::CheckIntegrity(const std::string& table, std::vector<std::string>& findings) {
  const std::string of = table.empty() ? "" : absl::StrCat("('", table, "')");
  const auto query = Query(absl::StrCat("PRAGMA integrity_check", of).c_str());
  while (query->Next()) {
    if (query->Bytes(0) != "ok" && findings.size() < kMaxFindings) {
      findings.push_back(query->Text(0));
    }
  }
  if (!query->status().ok() && findings.size() < kMaxFindings) {
    findings.emplace_back(query->status().message());
  }
}

absl::Status SqliteDatabase::Checkpoint(bool truncate) {
  const int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  const int code = sqlite3_wal_checkpoint_v2(handle_, nullptr, mode, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

class SqliteDatabase::Rows : public SqlRows {
 public:
  Rows(SqliteDatabase& database, const char* sql) : database_(database) {
    auto& by_text = database.idle_statements_;
    auto found = by_text.find(absl::string_view(sql));
    if (found == by_text.end()) found = by_text.emplace(sql, std::vector<sqlite3_stmt*>()).first;
    idle_ = &found->second;
    if (idle_->empty()) {
      Check(sqlite3_prepare_v3(database.handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_,
                               nullptr));
    } else {
      statement_ = idle_->back();
      idle_->pop_back();
    }
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  ~Rows() override {
    if (statement_ == nullptr) return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    idle_->push_back(statement_);
  }

  void Bind(int index, const SqlValue& value) {
    if (const auto* const number = std::get_if<int64_t>(&value)) {
      Check(sqlite3_bind_int64(statement_, index, *number));
    } else if (const auto* const real = std::get_if<double>(&value)) {
      Check(sqlite3_bind_double(statement_, index, *real));
    } else if (const auto* const text = std::get_if<absl::string_view>(&value)) {
      Check(sqlite3_bind_text64(statement_, index, AddressOf(*text), text->size(), SQLITE_TRANSIENT,
                                SQLITE_UTF8));
    } else {
      const absl::string_view bytes = std::get<SqlBlob>(value).bytes;
      Check(sqlite3_bind_blob64(statement_, index, AddressOf(bytes), bytes.size(), SQLITE_STATIC));
    }
  }

  bool Next() override {
    if (!status_.ok() || statement_ == nullptr) return false;
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) Check(code);
    return code == SQLITE_ROW;
  }

  const absl::Status& status() const override { return status_; }

  bool IsNull(int column) const override {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  int64_t Int(int column) const override { return sqlite3_column_int64(statement_, column); }
  double Real(int column) const override { return sqlite3_column_double(statement_, column); }

  absl::string_view Bytes(int column) const override {
    const void* const bytes = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    if (bytes == nullptr) {
      // SQLite reads long values when they are asked for, and has no other way to say that it
      // failed.
      const int code = sqlite3_errcode(database_.handle_);
      if (code != SQLITE_ROW && code != SQLITE_DONE) Check(code);
    }
    return {static_cast<const char*>(bytes), static_cast<size_t>(size)};
  }

 private:
  // An empty view may have no address, which SQLite takes for NULL.
  static const char* AddressOf(absl::string_view bytes) {
    return bytes.data() == nullptr ? "" : bytes.data();
  }

  void Check(int code) const {
    if (code != SQLITE_OK && status_.ok()) status_ = database_.Error(code);
  }

  SqliteDatabase& database_;
  std::vector<sqlite3_stmt*>* idle_;   // of the same text
  sqlite3_stmt* statement_ = nullptr;  // null: it cannot be prepared
  mutable absl::Status status_;
};

std::unique_ptr<SqlRows> SqliteDatabase::Start(const char* sql, absl::Span<const SqlValue> values) {
  auto rows = std::make_unique<Rows>(*this, sql);
  for (size_t i = 0; i < values.size(); ++i) rows->Bind(static_cast<int>(i) + 1, values[i]);
  return rows;
}

// A write-ahead log that an earlier run left.

namespace {

// SQLite's layer for Unix writes less than 128 KiB at once.
constexpr sqlite3_int64 kChunkBytes = 1 << 16;

// SQLite's file layer asks for file names that it can look for parameters behind.
struct FileNameDeleter {
  void operator()(char* name) const { sqlite3_free_filename(name); }
};

absl::Status LogError(const std::string& log, absl::string_view what, int code) {
  const std::string message =
      absl::StrCat(log, " cannot be ", what, ": ", sqlite3_errstr(code), " (", code, ")");
  if ((code & 0xff) == SQLITE_FULL) return absl::ResourceExhaustedError(message);
  return absl::InternalError(message);
}

absl::Status RewriteFile(sqlite3_file* file, const std::string& log) {
  sqlite3_int64 size = 0;
  int code = file->pMethods->xFileSize(file, &size);
  if (code != SQLITE_OK) return LogError(log, "measured", code);
  std::vector<char> chunk(static_cast<size_t>(std::min(size, kChunkBytes)));
  for (sqlite3_int64 at = 0; at < size; at += kChunkBytes) {
    const int bytes = static_cast<int>(std::min(size - at, kChunkBytes));
    code = file->pMethods->xRead(file, chunk.data(), bytes, at);
    if (code != SQLITE_OK) return LogError(log, "read", code);
    code = file->pMethods->xWrite(file, chunk.data(), bytes, at);
    if (code != SQLITE_OK) return LogError(log, "written", code);
  }
  code = file->pMethods->xSync(file, SQLITE_SYNC_FULL);
  return code == SQLITE_OK ? absl::OkStatus() : LogError(log, "synced", code);
}

}  // namespace

absl::Status RewriteWal(const std::string& database_path) {
  // Through SQLite's file layer, as all that the store writes.
  sqlite3_vfs* const vfs = sqlite3_vfs_find(nullptr);
  if (vfs == nullptr) return absl::InternalError("SQLite has no file layer");
  const std::string path = database_path + "-wal";
  // Clients see the errors, so these have the name without the folder.
  const std::string log = path.substr(path.rfind('/') + 1);
  int exists = 0;
  int code = vfs->xAccess(vfs, path.c_str(), SQLITE_ACCESS_EXISTS, &exists);
  if (code != SQLITE_OK) return LogError(log, "looked for", code);
  if (exists == 0) return absl::OkStatus();

  const std::unique_ptr<char, FileNameDeleter> name(const_cast<char*>(
      sqlite3_create_filename(database_path.c_str(), "", path.c_str(), 0, nullptr)));
  if (name == nullptr) return absl::ResourceExhaustedError("out of memory");
  // The aligned memory of a file of that layer.
  std::vector<std::max_align_t> memory(
      static_cast<size_t>(vfs->szOsFile) / sizeof(std::max_align_t) + 1);
  auto* const file = reinterpret_cast<sqlite3_file*>(memory.data());
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL;
  code = vfs->xOpen(vfs, sqlite3_filename_wal(name.get()), file, flags, &flags);
  if (code != SQLITE_OK) {
    if (file->pMethods != nullptr) file->pMethods->xClose(file);
    if ((code & 0xff) == SQLITE_CANTOPEN) {
      return absl::FailedPreconditionError(log + " cannot be opened for writing");
    }
    return LogError(log, "opened", code);
  }
  absl::Status status = RewriteFile(file, log);
  file->pMethods->xClose(file);
  return status;
}

}  // namespace voxloc::server
