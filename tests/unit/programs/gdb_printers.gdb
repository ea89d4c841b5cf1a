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
