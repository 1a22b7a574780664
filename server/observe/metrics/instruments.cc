// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/instruments.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

namespace voxloc::server {

void Counter::Increment(double by) const {
  if (counter_ != nullptr) counter_->Increment(by);
}

double Counter::Value() const { return counter_ == nullptr ? 0.0 : counter_->Value(); }

void Gauge::Set(double value) const {
  if (gauge_ != nullptr) gauge_->Set(value);
}

void Gauge::Add(double by) const {
  if (gauge_ != nullptr) gauge_->Increment(by);
}

void Histogram::Observe(double value) const {
  if (histogram_ != nullptr) histogram_->Observe(value);
}

}  // namespace voxloc::server
