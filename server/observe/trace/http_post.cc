// SPDX-License-Identifier: Apache-2.0

#include "server/observe/trace/http_post.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstddef>
#include <memory>

#include "absl/strings/str_cat.h"

namespace voxloc::server {
namespace {

// What collectors answer is a few lines.
constexpr size_t kMostBodyBytes = size_t{64} << 10U;

size_t TakeBody(char* data, size_t size, size_t count, void* to) {
  auto& body = *static_cast<std::string*>(to);
  body.append(data, std::min(size * count, kMostBodyBytes - std::min(kMostBodyBytes, body.size())));
  return size * count;
}

// Not 0 ends the transfer.
int AskWhetherToStop(void* stop, curl_off_t /*to_get*/, curl_off_t /*got*/, curl_off_t /*to_send*/,
                     curl_off_t /*sent*/) {
  return (*static_cast<const std::function<bool()>*>(stop))() ? 1 : 0;
}

struct FreeEasy {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
struct FreeHeaders {
  void operator()(curl_slist* headers) const { curl_slist_free_all(headers); }
};

}  // namespace

absl::StatusOr<HttpReply> PostJson(const std::string& url, const std::string& body,
                                   double timeout_s, const std::function<bool()>& stop) {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, FreeEasy> easy(initialized == CURLE_OK ? curl_easy_init() : nullptr);
  const std::unique_ptr<curl_slist, FreeHeaders> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"));
  if (easy == nullptr || headers == nullptr) {
    return absl::UnavailableError("libcurl cannot be initialized");
  }
  CURL* const curl = easy.get();
  HttpReply reply;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_s * 1e3));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &TakeBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply.body);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &AskWhetherToStop);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, const_cast<std::function<bool()>*>(&stop));
  const CURLcode done = curl_easy_perform(curl);
  if (done == CURLE_ABORTED_BY_CALLBACK) return absl::CancelledError("stopped");
  if (done != CURLE_OK) {
    return absl::UnavailableError(absl::StrCat(url, ": ", curl_easy_strerror(done)));
  }
  long code = 0;
  curl_off_t retry_after_s = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
  curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after_s);
  reply.code = static_cast<int>(code);
  reply.retry_after_s = static_cast<double>(retry_after_s);
  return reply;
}

}  // namespace voxloc::server
