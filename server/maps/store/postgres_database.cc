// SPDX-License-Identifier: Apache-2.0

#include "server/maps/store/postgres_database.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <variant>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "core/status/try.h"

namespace voxloc::server {
namespace {

// The server ends a statement by itself a little before the connection is given up: the next one
// can use it then.
constexpr absl::Duration kResultMargin = absl::Seconds(1);

absl::StatusCode CodeOfState(absl::string_view state) {
  const absl::string_view state_class = state.substr(0, 2);
  // Ended by the administrator or a crash, starting up, a server that only reads (which an old
  // primary is after a failover), a lock that others hold, a deadline, a table that a restore has
  // dropped for the moment.
  for (const char* const known : {"57P01", "57P02", "57P03", "25006", "55P03", "57014", "42P01"}) {
    if (state == known) return absl::StatusCode::kUnavailable;
  }
  if (state_class == "08" || state_class == "40") return absl::StatusCode::kUnavailable;
  if (state_class == "53") return absl::StatusCode::kResourceExhausted;
  if (state_class == "22") return absl::StatusCode::kInvalidArgument;
  if (state == "42501") return absl::StatusCode::kFailedPrecondition;
  if (state == "XX001" || state == "XX002") return absl::StatusCode::kDataLoss;
  return absl::StatusCode::kInternal;
}

// After which the connection is of no use: to a server that ends, or that only reads.
bool EndsConnection(absl::string_view state) {
  return state == "57P01" || state == "57P02" || state == "57P03" || state == "25006" ||
         absl::StartsWith(state, "08");
}

// On one line.
std::string TextOf(const char* message) {
  return absl::StrReplaceAll(absl::StripAsciiWhitespace(message == nullptr ? "" : message),
                             {{"\n\t", " "}, {"\n", " "}});
}

// Waits for events of a socket. DeadlineExceeded.
absl::Status PollUntil(int socket, short events, absl::Time deadline) {
  for (;;) {
    const auto left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0) return absl::DeadlineExceededError("");
    pollfd waited{socket, events, 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::min<int64_t>(left, 60'000)));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return absl::InternalError("poll failed");
  }
}

// Parameters as libpq takes them. Numbers go as text, which PostgreSQL reads as whatever type the
// statement has in that place; texts and bytes as they are.
struct Parameters {
  explicit Parameters(absl::Span<const SqlValue> from) {
    numbers.reserve(from.size());  // the addresses stay
    for (const SqlValue& value : from) {
      if (const auto* const number = std::get_if<int64_t>(&value)) {
        Add(numbers.emplace_back(absl::StrCat(*number)).c_str(), 0, 0);
      } else if (const auto* const real = std::get_if<double>(&value)) {
        // Enough digits to read back as the same number.
        Add(numbers.emplace_back(absl::StrFormat("%.17g", *real)).c_str(), 0, 0);
      } else if (const auto* const text = std::get_if<absl::string_view>(&value)) {
        AddBytes(*text);
      } else {
        AddBytes(std::get<SqlBlob>(value).bytes);
      }
    }
  }

  void AddBytes(absl::string_view bytes) {
    // An empty view may have no address, which libpq takes for NULL.
    Add(bytes.data() == nullptr ? "" : bytes.data(), static_cast<int>(bytes.size()), 1);
  }
  void Add(const char* value, int length, int format) {
    values.push_back(value);
    lengths.push_back(length);
    formats.push_back(format);
  }

  std::vector<std::string> numbers;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
};

// A number of at most eight bytes as it comes over the network.
uint64_t BigEndian(absl::string_view bytes) {
  uint64_t bits = 0;
  for (const char byte : bytes) bits = bits << 8U | static_cast<unsigned char>(byte);
  return bits;
}

absl::Status ConnectError(PGconn* handle) {
  const std::string text = TextOf(PQerrorMessage(handle));
  const bool password = absl::StrContains(text, "password");
  return absl::UnavailableError(absl::StrCat(
      "the database cannot be connected to: ", text,
      password ? "; the password is read from the variable PGPASSWORD, or from the file that the "
                 "variable PGPASSFILE names"
               : ""));
}

// In libpq, later keywords override earlier ones, so the URL overrides the defaults before it.
PGconn* StartConnection(const PostgresOptions& options) {
  const std::string seconds =
      absl::StrCat(std::max<int64_t>(2, absl::ToInt64Seconds(options.connect_timeout)));
  const std::string unacknowledged_ms =
      absl::StrCat(absl::ToInt64Milliseconds(options.request_timeout));
  // A connection that is silent in both directions is found out within about the time that
  // requests have.
  const std::array<std::pair<const char*, const char*>, 8> settings = {{
      {"application_name", "voxlocd"},
      {"target_session_attrs", "read-write"},
      {"connect_timeout", seconds.c_str()},
      {"keepalives_idle", "5"},
      {"keepalives_interval", "2"},
      {"keepalives_count", "3"},
      {"tcp_user_timeout", unacknowledged_ms.c_str()},
      {"dbname", options.url.c_str()},
  }};
  std::array<const char*, settings.size() + 1> keywords{};  // with nullptr at the end
  std::array<const char*, settings.size() + 1> values{};
  for (size_t i = 0; i < settings.size(); ++i) std::tie(keywords[i], values[i]) = settings[i];
  return PQconnectStartParams(keywords.data(), values.data(), /*expand_dbname=*/1);
}

// The statement with PostgreSQL's parameters: $1 in place of ?1.
std::string WithDollars(absl::string_view sql) {
  std::string text(sql);
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '?' && absl::ascii_isdigit(static_cast<unsigned char>(text[i + 1])))
      text[i] = '$';
  }
  return text;
}

}  // namespace

// A result, all of which is there.
class PostgresDatabase::Rows : public SqlRows {
 public:
  explicit Rows(absl::StatusOr<Result> result) {
    if (result.ok()) {
      result_ = *std::move(result);
    } else {
      status_ = result.status();
    }
  }

  bool Next() override {
    if (result_ == nullptr || row_ + 1 >= PQntuples(result_.get())) return false;
    ++row_;
    return true;
  }
  const absl::Status& status() const override { return status_; }
  bool IsNull(int column) const override { return PQgetisnull(result_.get(), row_, column) != 0; }
  int64_t Int(int column) const override {
    const absl::string_view bytes = Bytes(column);
    if (bytes.size() == 1) return static_cast<unsigned char>(bytes[0]);  // a truth value
    if (bytes.empty() || bytes.size() > sizeof(int64_t)) return 0;       // NULL, as SQLite has it
    const uint64_t bits = BigEndian(bytes);
    const auto unused = 8 * (sizeof(int64_t) - bytes.size());
    return static_cast<int64_t>(bits << unused) >> unused;  // with the sign of the narrower one
  }
  double Real(int column) const override {
    const absl::string_view bytes = Bytes(column);
    if (bytes.size() != sizeof(double)) return 0.0;
    const uint64_t bits = BigEndian(bytes);
    double value = 0.0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  absl::string_view Bytes(int column) const override {
    return {PQgetvalue(result_.get(), row_, column),
            static_cast<size_t>(PQgetlength(result_.get(), row_, column))};
  }

 private:
  Result result_;
  int row_ = -1;
  absl::Status status_;
};

absl::StatusOr<std::unique_ptr<PostgresDatabase>> PostgresDatabase::Connect(
    const PostgresOptions& options) {
  Handle handle(StartConnection(options));
  if (handle == nullptr) return absl::ResourceExhaustedError("out of memory");
  const absl::Time deadline = absl::Now() + options.connect_timeout;
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED || PQstatus(handle.get()) == CONNECTION_BAD) {
      return ConnectError(handle.get());
    }
    const short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!PollUntil(PQsocket(handle.get()), events, deadline).ok()) {
      const char* const host = PQhost(handle.get());
      return absl::UnavailableError(
          absl::StrCat("the database cannot be connected to: ", host == nullptr ? "it" : host,
                       ", port ", PQport(handle.get()), ", has not answered within ",
                       absl::FormatDuration(options.connect_timeout)));
    }
    state = PQconnectPoll(handle.get());
  }
  PQsetnonblocking(handle.get(), 1);
  // Notices, such as that a table is there already, are of no use to anybody.
  PQsetNoticeProcessor(
      handle.get(), [](void* /*nothing*/, const char* /*text*/) {}, nullptr);
  auto database =
      absl::WrapUnique(new PostgresDatabase(std::move(handle), options.request_timeout));
  const auto request_ms = absl::ToInt64Milliseconds(options.request_timeout);
  // A transaction of a process that hangs, or has lost its network, must not hold up the others.
  const std::string settings = absl::StrCat(
      "SET client_encoding = 'UTF8'; SET statement_timeout = ", request_ms,
      "; SET lock_timeout = ", request_ms - request_ms / 10,
      "; SET idle_in_transaction_session_timeout = ", request_ms,
      "; SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = "
      "3; SET standard_conforming_strings = on");
  VOXLOC_TRY(database->Execute(settings.c_str()));
  return database;
}

absl::Status PostgresDatabase::MarkLost(absl::string_view what) {
  lost_ = true;
  const std::string reason =
      what.empty() ? TextOf(PQerrorMessage(handle_.get())) : std::string(what);
  return absl::UnavailableError(absl::StrCat("the connection to the database is lost: ", reason));
}

absl::Status PostgresDatabase::ErrorOf(const PGresult* result) {
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (state == nullptr) return MarkLost(TextOf(PQresultErrorMessage(result)));
  const char* const text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (EndsConnection(state)) lost_ = true;
  return {CodeOfState(state),
          absl::StrCat(name(), ": ", TextOf(text), " (PostgreSQL's code ", state, ")")};
}

absl::Status PostgresDatabase::Await(short events, absl::Time deadline) {
  const absl::Status status = PollUntil(socket(), events, deadline);
  if (status.ok()) return status;
  return MarkLost(
      absl::StrCat("no answer within ", absl::FormatDuration(request_timeout_ + kResultMargin)));
}

absl::StatusOr<PostgresDatabase::Result> PostgresDatabase::WaitForResult() {
  PGconn* const handle = handle_.get();
  const absl::Time deadline = absl::Now() + request_timeout_ + kResultMargin;
  // Reads while flushing, so that a full socket buffer does not deadlock both sides.
  for (;;) {
    const int left = PQflush(handle);
    if (left < 0) return MarkLost();
    if (left == 0) break;
    VOXLOC_TRY(Await(POLLIN | POLLOUT, deadline));
    if (PQconsumeInput(handle) == 0) return MarkLost();
  }
  Result last;
  absl::Status error;
  for (;;) {
    while (PQisBusy(handle) != 0) {
      VOXLOC_TRY(Await(POLLIN, deadline));
      if (PQconsumeInput(handle) == 0) return MarkLost();
    }
    Result result(PQgetResult(handle));
    if (result == nullptr) break;
    const ExecStatusType status = PQresultStatus(result.get());
    const bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (!ok && error.ok()) error = ErrorOf(result.get());
    last = std::move(result);
  }
  if (PQstatus(handle) != CONNECTION_OK) {
    lost_ = true;
    if (error.ok()) return MarkLost();
  }
  if (!error.ok()) return error;
  if (last == nullptr) return absl::InternalError("the database has given no answer");
  changes_ = 0;
  static_cast<void>(absl::SimpleAtoi(PQcmdTuples(last.get()), &changes_));
  return last;
}

absl::StatusOr<PostgresDatabase::Result> PostgresDatabase::Send(const char* sql) {
  if (lost_) return MarkLost("it was before");
  if (PQsendQuery(handle_.get(), sql) == 0) return MarkLost();
  return WaitForResult();
}

absl::Status PostgresDatabase::Execute(const char* sql) { return Send(sql).status(); }

absl::Status PostgresDatabase::Commit() {
  VOXLOC_ASSIGN_OR_RETURN(const auto result, Send("COMMIT"));
  // A transaction with an error is rolled back by COMMIT, without another error.
  if (absl::string_view(PQcmdStatus(result.get())) == "COMMIT") return absl::OkStatus();
  return absl::InternalError("the database has rolled the transaction back");
}

absl::StatusOr<std::string> PostgresDatabase::Prepared(const char* sql) {
  const auto known = statements_.find(absl::string_view(sql));
  if (known != statements_.end()) return known->second;
  std::string statement = absl::StrCat("s", statements_.size() + 1);
  if (PQsendPrepare(handle_.get(), statement.c_str(), WithDollars(sql).c_str(), 0, nullptr) == 0) {
    return MarkLost();
  }
  VOXLOC_TRY(WaitForResult().status());
  statements_.emplace(sql, statement);
  return statement;
}

absl::StatusOr<PostgresDatabase::Result> PostgresDatabase::RunPrepared(
    const char* sql, absl::Span<const SqlValue> values) {
  if (lost_) return MarkLost("it was before");
  VOXLOC_ASSIGN_OR_RETURN(const auto statement, Prepared(sql));
  const Parameters parameters(values);
  if (PQsendQueryPrepared(handle_.get(), statement.c_str(),
                          static_cast<int>(parameters.values.size()), parameters.values.data(),
                          parameters.lengths.data(), parameters.formats.data(),
                          /*resultFormat=*/1) == 0) {
    return MarkLost();
  }
  return WaitForResult();
}

std::unique_ptr<SqlRows> PostgresDatabase::Start(const char* sql,
                                                 absl::Span<const SqlValue> values) {
  return std::make_unique<Rows>(RunPrepared(sql, values));
}

absl::StatusOr<std::vector<std::string>> PostgresDatabase::DrainNotifications() {
  if (PQconsumeInput(handle_.get()) == 0) return MarkLost();
  std::vector<std::string> texts;
  while (PGnotify* const notification = PQnotifies(handle_.get())) {
    texts.emplace_back(notification->extra);
    PQfreemem(notification);
  }
  return texts;
}

}  // namespace voxloc::server
