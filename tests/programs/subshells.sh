# SPDX-License-Identifier: GPL-2.0-or-later
# Forks without exec: each subshell writes its copy of the same variables.
x=0
i=0
while [ $i -lt 40 ]; do
	(x=$((x + 100)); (x=$((x + 1000)); echo "inner $x"); echo "outer $x")
	x=$((x + 1))
	i=$((i + 1))
done
big=$(i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i + 1)); done)
echo "$big" | cksum
echo "$(echo "$(echo nested)")" "$x"
(exit 7)
echo $?
(sleep 0.1; echo late) &
wait $!
echo "done $x"
