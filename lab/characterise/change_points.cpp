// SPDX-License-Identifier: BSL-1.0
#include "lab/characterise/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millpond::characterise {
namespace {

constexpr double median_of_squared_normal = 0.4549364;

// Sums over the first observations, from which the residuals of any segment follow in O(dimensions).
class residual_sums {
  public:
    explicit residual_sums(const observation_series& series)
        : dimensions_(series.dimensions),
          squares_(series.count() + 1),
          values_((series.count() + 1) * dimensions_),
          moments_(values_.size()) {
        for (std::size_t i = 0; i < series.count(); ++i) {
            squares_[i + 1] = squares_[i];
            for (std::size_t k = 0; k < dimensions_; ++k) {
                const double value = series.values[i * dimensions_ + k];
                const std::size_t at = i * dimensions_ + k;
                squares_[i + 1] += value * value;
                values_[at + dimensions_] = values_[at] + value;
                moments_[at + dimensions_] = moments_[at] + static_cast<double>(i) * value;
            }
        }
    }

    struct residuals {
        double of_constant, of_line;
    };
    // Returns the squared residuals of the observations from `begin` to before `end`, at least two.
    [[nodiscard]] residuals of(std::size_t begin, std::size_t end) const {
        const auto count = static_cast<double>(end - begin);
        const double middle = static_cast<double>(begin + end - 1) / 2;
        const double spread = count * (count * count - 1) / 12;
        double about_mean = 0, along_line = 0;
        for (std::size_t k = 0; k < dimensions_; ++k) {
            const double sum = values_[end * dimensions_ + k] - values_[begin * dimensions_ + k];
            const double moment = moments_[end * dimensions_ + k] - moments_[begin * dimensions_ + k] - middle * sum;
            about_mean += sum * sum;
            along_line += moment * moment;
        }
        const double constant = squares_[end] - squares_[begin] - about_mean / count;
        return {std::max(0.0, constant), std::max(0.0, constant - along_line / spread)};
    }

  private:
    std::size_t dimensions_;
    std::vector<double> squares_, values_, moments_;
};

// Returns the sum over all dimensions of the long-run variance.
double long_run_variance(const observation_series& series, std::size_t block) {
    const std::size_t blocks = series.count() / block, dimensions = series.dimensions;
    if (blocks < 2) return 0;
    std::vector<double> means(blocks * dimensions);
    for (std::size_t i = 0; i < blocks * block; ++i) {
        for (std::size_t k = 0; k < dimensions; ++k)
            means[i / block * dimensions + k] += series.values[i * dimensions + k] / static_cast<double>(block);
    }
    std::vector<double> differences(blocks - 1);
    for (std::size_t i = 0; i + dimensions < means.size(); ++i) {
        const double difference = means[i + dimensions] - means[i];
        differences[i / dimensions] += difference * difference;
    }
    const auto median = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
    std::nth_element(differences.begin(), median, differences.end());
    return *median / median_of_squared_normal * static_cast<double>(block) / 2;
}

}  // namespace

std::vector<std::size_t> change_points(const observation_series& series, std::size_t length_min, double gain_min) {
    const std::size_t count = series.count();
    if (count < 2 * length_min) return {};
    const double noise = long_run_variance(series, length_min) * std::log(static_cast<double>(count));
    const double parameter = std::max(gain_min / 2, noise);  // a change adds a place and a mean
    const residual_sums sums(series);
    // The least cost of the observations before each position, and where the last segment of these begins.
    std::vector<double> cost(count + 1, std::numeric_limits<double>::infinity());
    std::vector<std::size_t> last(count + 1);
    cost[0] = 0;
    for (std::size_t end = length_min; end <= count; ++end) {
        for (std::size_t begin = 0; begin + length_min <= end; ++begin) {
            if (cost[begin] == std::numeric_limits<double>::infinity()) continue;
            const residual_sums::residuals left = sums.of(begin, end);
            const double all = cost[begin] + 2 * parameter + std::min(left.of_constant, left.of_line + parameter);
            if (all >= cost[end]) continue;
            cost[end] = all;
            last[end] = begin;
        }
    }
    std::vector<std::size_t> found;
    for (std::size_t at = last[count]; at != 0; at = last[at]) found.push_back(at);
    std::reverse(found.begin(), found.end());
    return found;
}

}  // namespace millpond::characterise
