// SPDX-License-Identifier: Apache-2.0
//
// Where a call spent its time.

#ifndef VOXLOC_CUDA_CALL_TIMES_H_
#define VOXLOC_CUDA_CALL_TIMES_H_

namespace voxloc {

// Milliseconds on the device's clock. The slices of a long batch overlap each other; times of a
// batch are their sums.
struct CudaCallTimes {
  double upload_ms = 0.0;
  double kernel_ms = 0.0;
  double download_ms = 0.0;
};

}  // namespace voxloc

#endif  // VOXLOC_CUDA_CALL_TIMES_H_
