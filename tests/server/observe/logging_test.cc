// SPDX-License-Identifier: Apache-2.0

#include "server/observe/logging.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace voxloc::server {
namespace {

TEST(LoggingTest, WritesOneLineThatNoValueCanForge) {
  EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "session_opened",
                          {{"session", "s-1"}, {"points", 12}, {"share", 0.5}}),
            "level=info event=session_opened session=s-1 points=12 share=0.5");
  EXPECT_EQ(FormatLogLine(LogLevel::kWarn, "x", {{"vehicle", "a b\nlevel=error \"q\""}}),
            "level=warn event=x vehicle=\"a b\\nlevel=error \\\"q\\\"\"");
  EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "x", {{"empty", ""}}), "level=info event=x empty=\"\"");
}

TEST(LoggingTest, LinesOfATraceNameIt) {
  const auto trace = ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
  ASSERT_TRUE(trace.has_value());
  {
    const ScopedLogTrace outer(*trace);
    EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "x", {{"a", 1}}),
              "level=info event=x a=1 trace_id=4bf92f3577b34da6a3ce929d0e0e4736");
    {
      const ScopedLogTrace none{TraceContext()};
      EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "x", {}), "level=info event=x");
    }
    EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "x", {}),
              "level=info event=x trace_id=4bf92f3577b34da6a3ce929d0e0e4736");
  }
  EXPECT_EQ(FormatLogLine(LogLevel::kInfo, "x", {}), "level=info event=x");
}

// As OpenSSL 3 writes them.
TEST(GrpcLogTest, SaysInWordsWhyAHandshakeFailed) {
  const std::string failed = "Handshake failed with fatal error SSL_ERROR_SSL: error:";
  for (const auto& [line, reason] :
       {std::pair<const char*, const char*>{"0A00010B:SSL routines::wrong version number.",
                                            "the client does not speak TLS"},
        {"0A000418:SSL routines::tlsv1 alert unknown ca.",
         "the client does not know the authority of tls.certificate"},
        {"0A000412:SSL routines::sslv3 alert bad certificate.",
         "the client refuses tls.certificate, such as for its name"},
        {"0A0000C7:SSL routines::peer did not return a certificate.",
         "the client has no certificate, and tls.client_ca asks for one"},
        {"0A000086:SSL routines::certificate verify failed.",
         "the client's certificate is not of an authority in tls.client_ca, or is not valid"},
        {"0A000000:SSL routines::something new.", "the handshake failed"}}) {
    EXPECT_EQ(ParseTlsFailure(failed + line), reason);
  }
  EXPECT_EQ(ParseTlsFailure("Server chttp2 transport: wrong version number"), "");
}

}  // namespace
}  // namespace voxloc::server
