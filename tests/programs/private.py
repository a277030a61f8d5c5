#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""As numpy.memmap(mode='c') of a file that another mapping writes.

It prints "ready" when its mappings stand, goes on at a line of input, and
prints what it sees; then once more after another line.
"""
import mmap
import sys
import tempfile

PAGES, PAGE = 200, 4096

with tempfile.TemporaryFile() as f:
    f.truncate(PAGES * PAGE)
    view = mmap.mmap(f.fileno(), PAGES * PAGE, access=mmap.ACCESS_COPY)
    shared = mmap.mmap(f.fileno(), PAGES * PAGE)
    for i in range(0, PAGES, 3):
        view[i * PAGE] = 1            # ours from here on
    sum(view[i * PAGE + 1] for i in range(PAGES))
    for value in (7, 9):
        print("ready", flush=True)
        sys.stdin.readline()
        for i in range(PAGES):
            shared[i * PAGE] = value
        for i in range(value, PAGES, 10):
            view[i * PAGE + 5] = 3    # first written while it is recorded
        print(sum(view[i * PAGE] for i in range(PAGES)),
              sum(view[i * PAGE + 5] for i in range(PAGES)), flush=True)
