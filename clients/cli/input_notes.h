// SPDX-License-Identifier: Apache-2.0
//
// What a command assumed of its input, and what it doubts, on standard error.

#ifndef VOXLOC_CLIENTS_CLI_INPUT_NOTES_H_
#define VOXLOC_CLIENTS_CLI_INPUT_NOTES_H_

#include "clients/dataset/cloud_remarks.h"

namespace voxloc::cli {

// A line each; doubts begin with "warning:".
void PrintNotes(const InputNotes& notes);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_INPUT_NOTES_H_
