# SPDX-License-Identifier: BSL-1.0
# Report: emeryberger/Hoard 50, mjansson/rpmalloc 28, Begun/lockfree-malloc 5
# Situation: the commands of every day run one after the other, in pipes and in the background.
# Holds: each does what it does bare.
mkdir folder && cd folder || exit 1
for i in 1 2 3; do echo "line $i" > "file $i"; done
ls -1 | sort -r | head -n 2
cat file* | grep -c line
find . -name 'file*' | wc -l
(sleep 0.05; echo late > later) &
wait
tr a-z A-Z < later
expr 6 '*' 7
cp 'file 1' copy && mv copy moved && rm moved && chmod 600 'file 2' && stat -c %a 'file 2'
echo ok
