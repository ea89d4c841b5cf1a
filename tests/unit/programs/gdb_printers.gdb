# SPDX-License-Identifier: BSL-1.0
# What gdb is asked in the test of include/millpond/gdb_printers.py; gdb_printers.txt is what it must answer.
set width 0
set print pretty off
set print elements 6
break look_at_them
run
up
print array
print scores
print pairs
print tree
print letters
print large_ones
print sequence
print third
print first
print none
# Shown as a std::set, by the printers that libstdc++ brings along. Without these there is nothing to look at.
python pooled = gdb.parse_and_eval("pooled")
python known = "std::set with 3 elements = {[0] = 1, [1] = 2, [2] = 3}"
python print("$11 = " + (pooled.format_string() if gdb.default_visualizer(pooled) else known))
