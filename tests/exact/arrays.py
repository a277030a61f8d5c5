# SPDX-License-Identifier: GPL-2.0-or-later
"""numpy on BLAS with threads; integers, so that each order gives the same."""
import numpy as np

r = np.random.RandomState(1)
a = r.randint(0, 100, (300, 300)).astype(np.float64)
b = r.randint(0, 100, (300, 300)).astype(np.float64)
for _ in range(3):
    c = a @ b
print(int(c.sum()), int(c[17, 31]))
x = r.randint(-1000, 1000, 200000)
x.sort()
print(int(x[1000]), int(np.cumsum(x)[-1]), int((x > 0).sum()))
f = np.fft.fft(np.arange(4096))
print(round(float(abs(f[1])), 3))
s = np.linalg.solve(a + 300 * np.eye(300), b[:, 0])
print(round(float(s.sum()), 6))
