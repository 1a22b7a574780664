// SPDX-License-Identifier: Apache-2.0
//
// The borders of the histograms. Metrics of one family share them, so that they can be added up.

#ifndef VOXLOC_SERVER_OBSERVE_METRICS_BUCKETS_H_
#define VOXLOC_SERVER_OBSERVE_METRICS_BUCKETS_H_

#include <vector>

namespace voxloc::server {

// Of one scan, seconds: 50 ms, the objective, and 100 ms, the period of a 10 Hz scanner, are
// borders. A GPU takes between 0.2 and 2 ms, where they lie closest (docs/performance.md).
inline std::vector<double> ScanBuckets() {
  return {0.0001, 0.0002, 0.00035, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075,
          0.01,   0.015,  0.02,    0.03,   0.05,    0.075, 0.1,    0.2,   0.5,   1.0};
}

// Of steps that scans have in common with slower work, seconds: those of a scan, and on to a
// minute.
inline std::vector<double> StepBuckets() {
  std::vector<double> buckets = ScanBuckets();
  buckets.insert(buckets.end(), {2.0, 5.0, 10.0, 30.0, 60.0});
  return buckets;
}

// Of the stages of a GPU, seconds: a launch of one scan takes 0.1 to 0.2 ms, its upload and its
// download a tenth of that or less (docs/performance.md).
inline std::vector<double> DeviceBuckets() {
  return {0.000002, 0.000005, 0.00001, 0.00002, 0.00005, 0.0001, 0.00015, 0.0002, 0.0003,
          0.0005,   0.001,    0.002,   0.005,   0.01,    0.02,   0.05,    0.1,    1.0};
}

// From a scan's stamp to its reply, seconds: a sweep takes up to 100 ms before it is even sent.
inline std::vector<double> AgeBuckets() {
  return {0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0};
}

// Of work on whole maps, and of searches, seconds: up to half an hour.
inline std::vector<double> LongBuckets() {
  return {0.001, 0.01, 0.02, 0.05, 0.1,  0.2,   0.5,   1.0,   2.0,
          5.0,   10.0, 20.0, 50.0, 100., 200.0, 500.0, 1000., 2000.};
}

// Of RPCs, seconds: from look-ups to streams that last a day.
inline std::vector<double> CallBuckets() {
  return {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,  0.1,    0.2,
          0.5,    1.0,   2.0,   5.0,   10.0, 60.0, 600.0, 3600.0, 86400.0};
}

// Of a share or a confidence.
inline std::vector<double> RatioBuckets() {
  return {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0};
}

}  // namespace voxloc::server

#endif  // VOXLOC_SERVER_OBSERVE_METRICS_BUCKETS_H_
