// SPDX-License-Identifier: Apache-2.0
//
// Macros that return the error of an absl::Status or absl::StatusOr to the caller.

#ifndef VOXLOC_CORE_STATUS_TRY_H_
#define VOXLOC_CORE_STATUS_TRY_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns a status where it is an error.
#define VOXLOC_TRY(expression)                                                                \
  do {                                                                                        \
    if (absl::Status voxloc_status = (expression); !voxloc_status.ok()) return voxloc_status; \
  } while (false)

// Gives `lhs`, a variable or the declaration of one, the value of a StatusOr; returns its status
// where it is an error.
#define VOXLOC_ASSIGN_OR_RETURN(lhs, ...) \
  VOXLOC_ASSIGN_OR_RETURN_VIA(VOXLOC_CONCAT(voxloc_result_, __LINE__), lhs, __VA_ARGS__)
#define VOXLOC_ASSIGN_OR_RETURN_VIA(result, lhs, ...) \
  auto result = __VA_ARGS__;                          \
  if (!result.ok()) return result.status();           \
  lhs = *std::move(result)
#define VOXLOC_CONCAT(a, b) VOXLOC_CONCAT_INNER(a, b)
#define VOXLOC_CONCAT_INNER(a, b) a##b

#endif  // VOXLOC_CORE_STATUS_TRY_H_
