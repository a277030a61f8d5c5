# SPDX-License-Identifier: GPL-2.0-or-later
"""multiprocessing: a pool, shared memory, locks; argv: fork or spawn."""
import multiprocessing as mp
import sys
from multiprocessing import shared_memory

table = list(range(200000))


def total(n):
    table[n] += 1000
    return sum(table[n::7]) % 1000003


def count(value, name):
    shm = shared_memory.SharedMemory(name)
    for i in range(200):
        with value.get_lock():
            value.value += 1
            shm.buf[(value.value * 37) % 65536] = 1
    shm.close()


if __name__ == "__main__":
    ctx = mp.get_context(sys.argv[1])
    with ctx.Pool(3) as pool:
        print(len(pool.map(total, range(40))))
    value = ctx.Value("i", 0)
    shm = shared_memory.SharedMemory(create=True, size=65536)
    ps = [ctx.Process(target=count, args=(value, shm.name)) for _ in range(3)]
    for p in ps:
        p.start()
    for p in ps:
        p.join()
    print(value.value, sum(shm.buf), [p.exitcode for p in ps], table[0])
    shm.close()
    shm.unlink()
