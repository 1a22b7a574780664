// SPDX-License-Identifier: Apache-2.0

#include "server/observe/trace/otlp_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/version/version.h"

namespace voxloc::server {
namespace {

using Json = nlohmann::json;

constexpr int kStatusError = 2;  // opentelemetry.proto.trace.v1.Status

// 64-bit integers are strings.
Json ValueJson(const std::variant<std::string, int64_t, double, bool>& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return {{"stringValue", *text}};
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return {{"intValue", absl::StrCat(*number)}};
  }
  if (const auto* number = std::get_if<double>(&value)) return {{"doubleValue", *number}};
  return {{"boolValue", std::get<bool>(value)}};
}

Json AttributesJson(const std::vector<SpanAttribute>& attributes) {
  Json list = Json::array();
  for (const SpanAttribute& attribute : attributes) {
    list.push_back({{"key", attribute.key}, {"value", ValueJson(attribute.value)}});
  }
  return list;
}

Json SpanJson(const Span& span) {
  Json json = {{"traceId", TraceIdHex(span.trace_id)},
               {"spanId", SpanIdHex(span.span_id)},
               {"name", span.name},
               {"kind", static_cast<int>(span.kind)},
               {"startTimeUnixNano", absl::StrCat(span.start_unix_ns)},
               {"endTimeUnixNano", absl::StrCat(span.end_unix_ns)},
               {"attributes", AttributesJson(span.attributes)}};
  if (span.parent_id != SpanId{}) json["parentSpanId"] = SpanIdHex(span.parent_id);
  if (span.failed) json["status"] = {{"code", kStatusError}, {"message", span.error}};
  return json;
}

}  // namespace

std::string SpansToJson(absl::Span<const Span> spans) {
  Json list = Json::array();
  for (const Span& span : spans) list.push_back(SpanJson(span));
  const std::vector<SpanAttribute> resource = {{"service.name", std::string("voxlocd")},
                                               {"service.version", std::string(kVersion)}};
  const Json scope = {{"name", "voxlocd"}, {"version", kVersion}};
  const Json scope_spans = {{"scope", scope}, {"spans", std::move(list)}};
  const Json resource_spans = {{"resource", {{"attributes", AttributesJson(resource)}}},
                               {"scopeSpans", Json::array({scope_spans})}};
  const Json request = {{"resourceSpans", Json::array({resource_spans})}};
  // Names of maps and vehicles are clients' bytes.
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int64_t RejectedSpans(absl::string_view response) {
  const Json json = Json::parse(response, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return 0;
  const auto partial = json.find("partialSuccess");
  if (partial == json.end() || !partial->is_object()) return 0;
  const auto rejected = partial->find("rejectedSpans");
  if (rejected == partial->end()) return 0;
  int64_t count = 0;
  if (rejected->is_number_integer()) count = rejected->get<int64_t>();
  if (rejected->is_string() && !absl::SimpleAtoi(rejected->get<std::string>(), &count)) count = 0;
  return std::max<int64_t>(0, count);
}

}  // namespace voxloc::server
