# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads that allocate, hash and queue."""
import hashlib
import queue
import threading

work, done = queue.Queue(), queue.Queue()


def worker():
    while True:
        n = work.get()
        if n is None:
            return
        data = bytes((i * n) & 255 for i in range(20000)) * 20
        done.put((n, hashlib.sha256(data).hexdigest()))


threads = [threading.Thread(target=worker) for _ in range(8)]
for th in threads:
    th.start()
for n in range(60):
    work.put(n)
for _ in threads:
    work.put(None)
for th in threads:
    th.join()
results = dict(done.get() for _ in range(60))
print(hashlib.sha256("".join(results[n] for n in range(60)).encode())
      .hexdigest())
