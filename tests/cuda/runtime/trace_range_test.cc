// SPDX-License-Identifier: Apache-2.0
//
// A tool as NVTX loads one: it sees the ranges under their names.

#include "cuda/runtime/trace_range.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace voxloc::cuda {
namespace {

std::vector<std::string>& Seen() {
  static std::vector<std::string> seen;
  return seen;
}

// The domain by name; NVTX hands it back as it is.
struct nvtxDomainRegistration_st* NVTX_API CreateDomain(const char* name) {
  static std::string domain;
  domain = name;
  return reinterpret_cast<nvtxDomainRegistration_st*>(&domain);
}

int NVTX_API Push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  Seen().push_back(*reinterpret_cast<const std::string*>(domain) + ": " +
                   attributes->message.ascii);
  return 0;
}

int NVTX_API Pop(nvtxDomainHandle_t) {
  Seen().push_back("pop");
  return 0;
}

int NVTX_API Attach(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) {
    return 0;
  }
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&CreateDomain);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(&Push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(&Pop);
  return 1;
}

TEST(TraceRangeTest, AToolSeesNestedRangesInTheirDomain) {
  InitializeInjectionNvtx2_fnptr = &Attach;  // where NVTX looks for a tool at the first range
  {
    const TraceRange align("align");
    const TraceRange launch("launch");
  }
  EXPECT_EQ(Seen(), (std::vector<std::string>{"voxloc: align", "voxloc: launch", "pop", "pop"}));
}

}  // namespace
}  // namespace voxloc::cuda
