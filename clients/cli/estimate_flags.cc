// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/estimate_flags.h"

#include <CLI/CLI.hpp>
#include <map>

namespace voxloc::cli {
namespace {

const std::map<std::string, v1::CovarianceMethod>& Methods() {
  static const auto& methods = *new std::map<std::string, v1::CovarianceMethod>{
      {"fixed", v1::COVARIANCE_METHOD_FIXED},
      {"laplace", v1::COVARIANCE_METHOD_LAPLACE},
      {"multi-ndt", v1::COVARIANCE_METHOD_MULTI_NDT},
      {"multi-ndt-score", v1::COVARIANCE_METHOD_MULTI_NDT_SCORE},
      {"calibrated", v1::COVARIANCE_METHOD_CALIBRATED}};
  return methods;
}

}  // namespace

void EstimateFlags::AddTo(v1::AlignmentOptions* options, v1::OutputOptions* output) const {
  if (!covariance.empty()) options->mutable_covariance()->set_method(Methods().at(covariance));
  if (no_confidence) output->set_no_confidence(true);
}

void AddEstimateFlags(CLI::App* command, EstimateFlags* flags) {
  command
      ->add_option("--covariance", flags->covariance,
                   "Estimate the covariance by fixed, laplace, multi-ndt, multi-ndt-score or "
                   "calibrated; default: the profile's method")
      ->check(CLI::IsMember(Methods()))
      ->option_text("M");
  command->add_flag("--no-confidence", flags->no_confidence,
                    "Do not compute the confidence, which saves time");
}

}  // namespace voxloc::cli
