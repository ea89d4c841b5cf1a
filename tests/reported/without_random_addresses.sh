# SPDX-License-Identifier: BSL-1.0
# Report: DynamoRIO/dynamorio 4296
# Situation: a program is started by setarch, which turns random addresses off and executes it.
# Holds: it runs; where setarch is not permitted, the test is left out.
setarch "$(uname -m)" -R true 2> /dev/null || { echo ok; exit 0; }
setarch "$(uname -m)" -R sort -r <<'T' | head -n 1
b
ok
a
T
