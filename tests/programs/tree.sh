# SPDX-License-Identifier: GPL-2.0-or-later
# Writes a C tree of N files with its Makefile into the current directory.
n=${1:-20}
i=0
objs=
: > all.h
while [ $i -lt "$n" ]; do
	echo "int f$i(int x);" >> all.h
	{
		echo '#include <stdio.h>'
		echo '#include <stdlib.h>'
		echo '#include <string.h>'
		echo '#include "all.h"'
		echo "int f$i(int x) { char b[64];"
		echo "snprintf(b, sizeof(b), \"%d;\", x * $((i + 3)));"
		echo 'return (int)strlen(b) + abs(x); }'
	} > f$i.c
	objs="$objs f$i.o"
	i=$((i + 1))
done
{
	echo '#include <stdio.h>'
	echo '#include "all.h"'
	echo 'int main(void) { int s = 0;'
	i=0
	while [ $i -lt "$n" ]; do
		echo "s += f$i($i);"
		i=$((i + 1))
	done
	printf '%s\n' 'printf("%d\n", s); return 0; }'
} > main.c
{
	echo 'CFLAGS = -O1'
	echo "prog: main.o$objs"
	printf '\t$(CC) -o $@ $^\n'
	echo "main.o$objs: all.h"
} > Makefile
