# SPDX-License-Identifier: BSL-1.0
# Report: microsoft/mimalloc 21, nnethercote/perf-book 7
# Situation: a script runs a statically linked program, whose malloc nobody can interpose, and a dynamic one.
# Holds: both run; the recorder says of the static one that it was not seen.
printf 'int main(void) { return 0; }\n' > one.c
${CC:-cc} -static one.c -o static_one 2> /dev/null || { echo ok; exit 0; }
./static_one && true && echo ok
