# SPDX-License-Identifier: BSL-1.0
# Rewrites what Doxygen 1.9 does not read: the namespace of the mode, braces in a template's parameters, an attribute.
s/namespace millpond::inline MILLPOND_ABI/namespace millpond/
s/std::size_t\{([0-9]+)\} << ([0-9]+)/(std::size_t(\1) << \2)/g
s/\[\[gnu::weak\]\] //
