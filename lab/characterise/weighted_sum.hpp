// SPDX-License-Identifier: BSL-1.0
// weighted_sum: the estimate of a sum over all objects from a random sample of them (Horvitz and Thompson).
//
//   object i, sampled with probability p_i, adds y_i / p_i      estimate, without bias
//                                       and y_i² (1 − p_i) / p_i²  to its variance, without bias if the choices are
//                                                               independent
//
// interval() covers the true sum in at least 95 % of samples, also if few objects were sampled, or none. It is that of
// Fay and Feuer for weighted counts of rare events: quantiles of gamma distributions with the mean and variance of the
// estimate, the upper one with one more object of the largest weight. The lower end is at least what was seen. It needs
// that no object that was missed weighs more than `unseen`. Not thread-safe.
#pragma once

#include <cstdint>

namespace millpond::characterise {

// Both ends of a 95 % interval.
struct estimate_interval {
    double low, high;
};

class weighted_sum {
  public:
    void add(double value, double probability) { count(value, probability, 1); }
    // Takes an object out that was added with the same value; without objects the sum is exactly 0.
    void remove(double value, double probability) { count(value, probability, -1); }

    double value() const { return value_ > 0 ? value_ : 0; }
    double variance() const { return variance_ > 0 ? variance_ : 0; }
    // The value, rounded to a whole number.
    std::uint64_t rounded() const { return static_cast<std::uint64_t>(value() + 0.5); }
    // `unseen`: the largest value / probability of an object that may have been missed, above 0.
    estimate_interval interval(double unseen) const;

  private:
    void count(double value, double probability, double sign) {
        const double missed = 1 - probability;
        value_ += sign * value / probability;
        variance_ += sign * value * value * missed / (probability * probability);
        seen_ += sign * value;
        objects_ += sign;
        if (objects_ == 0) *this = {};
    }

    double value_ = 0, variance_ = 0, seen_ = 0, objects_ = 0;
};

// Returns the probability with which an object of so many bytes is sampled if one byte in `interval` is chosen.
double sampling_probability(std::uint64_t bytes, std::uint64_t interval);

// Regularised incomplete functions, to some 10^−9: P(shape, x) of the gamma distribution, I_x(a, b) of the beta
// distribution. gamma_quantile: the x with P(shape, x) = share; for a shape above 10^4, share is 0.0125 or 0.9875.
// Arguments above 0; a, b may be large.
double gamma_share(double shape, double x);
double gamma_quantile(double shape, double share);
double beta_share(double a, double b, double x);

}  // namespace millpond::characterise
