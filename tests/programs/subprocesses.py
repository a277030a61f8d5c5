# SPDX-License-Identifier: GPL-2.0-or-later
"""subprocess, from several threads at once; os.fork beside it."""
import os
import subprocess
import threading

lines = {}


def run(n):
    p = subprocess.run(["sh", "-c", "echo %d; cat; exit %d" % (n, n % 5)],
                       input=b"x" * n * 1000, capture_output=True)
    lines[n] = "%d %d %d" % (n, p.returncode, len(p.stdout))


threads = [threading.Thread(target=run, args=(n,)) for n in range(12)]
for th in threads:
    th.start()
for th in threads:
    th.join()
for n in sorted(lines):
    print(lines[n])
data = list(range(100000))
for n in range(5):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        data[n] = -1
        os.write(w, b"%d" % sum(data))
        os._exit(0)
    data[n + 10] += 1
    os.waitpid(pid, 0)
    print(os.read(r, 100).decode(), sum(data))
try:
    subprocess.run(["/nonexistent"])
except FileNotFoundError as e:
    print(e)
try:
    subprocess.run(["sleep", "10"], timeout=0.2)
except subprocess.TimeoutExpired:
    print("timed out")
