// SPDX-License-Identifier: Apache-2.0

#include "server/observe/metrics/instruments.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>

namespace voxloc::server {
namespace {

// Registering a name again returns the family that there is.
template <typename Builder>
auto& Register(Builder builder, const MetricName& metric, prometheus::Registry& registry) {
  return builder.Name(metric.name).Help(metric.help).Register(registry);
}

std::map<std::string, std::string> LabelsOf(const MetricName& metric, const std::string& value,
                                            const std::string& second_value) {
  std::map<std::string, std::string> labels;
  if (metric.label != nullptr) labels[metric.label] = value;
  if (metric.second_label != nullptr) labels[metric.second_label] = second_value;
  return labels;
}

}  // namespace

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

MetricRegistry::MetricRegistry() : registry_(std::make_shared<prometheus::Registry>()) {}

Counter MetricRegistry::AddCounter(const MetricName& metric, const std::string& value,
                                   const std::string& second_value) {
  return Counter(&Register(prometheus::BuildCounter(), metric, *registry_)
                      .Add(LabelsOf(metric, value, second_value)));
}

Gauge MetricRegistry::AddGauge(const MetricName& metric, const std::string& value) {
  return Gauge(
      &Register(prometheus::BuildGauge(), metric, *registry_).Add(LabelsOf(metric, value, {})));
}

Histogram MetricRegistry::AddHistogram(const MetricName& metric, const std::vector<double>& borders,
                                       const std::string& value, const std::string& second_value) {
  return Histogram(&Register(prometheus::BuildHistogram(), metric, *registry_)
                        .Add(LabelsOf(metric, value, second_value), borders));
}

}  // namespace voxloc::server
