# SPDX-License-Identifier: GPL-2.0-or-later
"""What the standard library does in C: callbacks, generators, ctypes, regexes."""
import collections
import ctypes
import decimal
import hashlib
import itertools
import json
import re
import sqlite3
import struct
import threading
import zlib

data = [{"n": i, "s": "x%d" % i, "f": i / 7, "l": list(range(i % 9))}
        for i in range(3000)]
text = json.dumps(data, sort_keys=True)
print(len(text), json.loads(text) == data, zlib.crc32(text.encode()))
print(hashlib.sha256(zlib.compress(text.encode(), 9)).hexdigest()[:16])
print(len(re.findall(r'"s": "x(\d*)7"', text)))
decimal.getcontext().prec = 60
print(decimal.Decimal(2).sqrt())

libc = ctypes.CDLL(None)
numbers = (ctypes.c_int * 500)(*[(i * 7919) % 1000 for i in range(500)])
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int),
                           ctypes.POINTER(ctypes.c_int))
libc.qsort(numbers, 500, 4, compare(lambda a, b: a[0] - b[0]))
print(list(numbers) == sorted(numbers), numbers[77])

db = sqlite3.connect(":memory:")
db.create_function("twice", 1, lambda v: 2 * v)
db.execute("create table t (a integer, b text)")
db.executemany("insert into t values (?, ?)",
               ((i, str(i)) for i in range(5000)))
print(db.execute("select sum(twice(a)), count(*) from t "
                 "where b like '%3%'").fetchone())

total = collections.Counter()
lock = threading.Lock()


def work(k):
    for i in range(2000):
        with lock:
            total[(i * k) % 13] += 1


threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for x in threads:
    x.start()
for x in threads:
    x.join()
print(sorted(total.items()))


def depth(n):
    try:
        return depth(n + 1)
    except RecursionError:
        return n


print(depth(0) > 900, sum(1 for _ in itertools.permutations(range(7))),
      struct.unpack("<d", struct.pack("<d", 1 / 3))[0])
