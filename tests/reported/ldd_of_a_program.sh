# SPDX-License-Identifier: BSL-1.0
# Report: koute/bytehound 124
# Situation: ldd runs the loader on a program, with a preloaded library in the environment.
# Holds: ldd lists the C library and ends with status 0.
ldd "$(command -v sh)" | grep -c 'libc\.so' && echo ok
