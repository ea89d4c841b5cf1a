// SPDX-License-Identifier: BSL-1.0
// change_points: finds where a series of observations changes its course, and so ends one segment and begins another.
//
//   value │      ....::::│::::::::::::│            a segment is a constant or a straight line in each dimension,
//         │..::::        │            │.......     plus noise
//         └──────────────┴────────────┴────────▶ observation
//
// Method: optimal partitioning (Jackson et al. 2005; the search that PELT, Killick et al. 2012, prunes). It
// minimises the squared residuals of all segments plus a penalty for each of their parameters. A segment has a place
// and, in each dimension, a mean; if that pays, a slope too, so that a slow drift is one segment. The penalty of a
// parameter is that of the information criterion of Schwarz, variance · ln n. The variance is the long-run one,
// because neighbours in a series depend on each other: half the squared difference of the means of neighbouring
// blocks, times the length of a block, at the median of all pairs, which a change moves little. The median is
// divided by that of a squared normal variable.
//
// Use it for a few hundred observations. O(observations² · dimensions) time, O(observations · dimensions) memory.
#pragma once

#include <cstddef>
#include <vector>

namespace millpond::characterise {

// Observations in order, each `dimensions` values.
struct observation_series {
    std::size_t dimensions = 0;
    std::vector<double> values{};

    [[nodiscard]] std::size_t count() const { return dimensions == 0 ? 0 : values.size() / dimensions; }
};

// Returns the positions of the first observations of all segments but the first. `length_min`: the least number of
// observations in a segment, and the number in a block for the variance, at least 2. `gain_min`: what a change must
// gain at least in squared residuals, however little noise there is.
std::vector<std::size_t> change_points(const observation_series& series, std::size_t length_min, double gain_min);

}  // namespace millpond::characterise
