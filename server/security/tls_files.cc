// SPDX-License-Identifier: Apache-2.0

#include "server/security/tls_files.h"

#include <chrono>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/status/try.h"
#include "server/config/config_errors.h"
#include "server/observe/logging.h"
#include "server/security/certificate_check.h"

namespace voxloc::server {
namespace {

// A certificate is a few kB, and the authorities of a whole distribution are 220 kB.
constexpr size_t kMaxPemBytes = size_t{1} << 20;
// ACME clients renew certificates of 90 days 30 days before their end; later a renewal has failed.
constexpr absl::Duration kRenewalWarning = absl::Hours(24 * 30);

absl::Status InvalidError(absl::string_view key, const std::string& path,
                          const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(key, " (", path, "): ", status.message()));
}

}  // namespace

absl::StatusOr<TlsMaterial> ReadTlsMaterial(const TlsOptions& options) {
  TlsMaterial material;
  ConfigErrors errors;
  const auto read = [&errors](absl::string_view key, const std::string& path, std::string& into) {
    auto text = ReadTextFile(path, kMaxPemBytes);
    if (text.ok()) {
      into = *std::move(text);
    } else {
      errors.Add(InvalidError(key, path, text.status()));
    }
  };
  read("tls.certificate", options.certificate, material.certificate_chain);
  read("tls.private_key", options.private_key, material.private_key);
  if (!options.client_ca.empty()) {
    read("tls.client_ca", options.client_ca, material.client_authorities);
  }
  VOXLOC_TRY(errors.Status());
  const auto expires = CheckKeyPair(material.certificate_chain, material.private_key, absl::Now());
  if (!expires.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("tls.certificate (", options.certificate,
                                                   ") and tls.private_key (", options.private_key,
                                                   "): ", expires.status().message()));
  }
  material.expires = *expires;
  if (options.client_ca.empty()) return material;
  if (absl::Status status = CheckAuthorities(material.client_authorities); !status.ok()) {
    return InvalidError("tls.client_ca", options.client_ca, status);
  }
  return material;
}

TlsFiles::TlsFiles(TlsOptions options, const Metrics& metrics)
    : options_(std::move(options)), metrics_(metrics) {}

absl::Status TlsFiles::Reload() {
  // Taken before the files are read: what changes meanwhile is read again.
  const Stamps stamps = StampsNow();
  auto material = ReadTlsMaterial(options_);
  const absl::MutexLock lock(&mutex_);
  last_read_ = stamps;
  if (!material.ok()) {
    metrics_.tls_reloads_failed.Increment();
    Log(LogLevel::kError, "tls_files_refused", {{"error", material.status().message()}});
    return material.status();
  }
  material_ = std::make_shared<const TlsMaterial>(*std::move(material));
  metrics_.tls_reloads_ok.Increment();
  metrics_.tls_expiry_s.Set(static_cast<double>(absl::ToUnixSeconds(material_->expires)));
  const std::string expires =
      absl::FormatTime(absl::RFC3339_sec, material_->expires, absl::UTCTimeZone());
  Log(LogLevel::kInfo, "tls_files_read",
      {{"certificate", options_.certificate}, {"expires", expires}});
  if (material_->expires - absl::Now() < kRenewalWarning) {
    Log(LogLevel::kWarn, "tls_certificate_ends",
        {{"certificate", options_.certificate}, {"expires", expires}});
  }
  return absl::OkStatus();
}

std::shared_ptr<const TlsMaterial> TlsFiles::material() const {
  const absl::MutexLock lock(&mutex_);
  return material_;
}

TlsFiles::Stamps TlsFiles::StampsNow() const {
  return {StampOf(options_.certificate), StampOf(options_.private_key),
          StampOf(options_.client_ca)};
}

TimeoutWatch::Clock::time_point TlsFiles::Poll(TimeoutWatch::Clock::time_point now) {
  const Stamps stamps = StampsNow();
  bool changed = false;
  {
    const absl::MutexLock lock(&mutex_);
    changed = stamps != last_read_;
  }
  if (changed) static_cast<void>(Reload());
  return now + std::chrono::duration_cast<TimeoutWatch::Clock::duration>(
                   std::chrono::duration<double>(options_.refresh_s));
}

}  // namespace voxloc::server
