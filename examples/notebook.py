#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace in pandas, cell by cell: who uses which data structures, and when.

    moca record -o t -- PROGRAM
    python3 notebook.py t

Editors that know cells (# %%) run it as a notebook. It needs python3-moca and
python3-pandas.
"""
# %% The trace: how complete it is
import sys

import moca

trace = moca.open(sys.argv[1])
c = trace.certificate
print("%s: %d of %d touched pages have a record" % (
    trace.metadata_value("command"), c.pages_seen, c.pages_touched))

# %% Data structures, those with the most accesses first
objects = trace.objects.to_pandas()
top = objects.sort_values("accesses", ascending=False).head(10)
print(top[["object", "kind", "site", "accesses", "pages", "sharing"]]
      .to_string(index=False, justify="left",
                 formatters={"object": "{:<20}".format}))

# %% Accesses: an array of structures, or a frame
accesses = trace.accesses.to_pandas()
for task, n in accesses.groupby("task")["weight"].sum().items():
    print("task %d: %d accesses" % (task, n))

# %% By tenths of the time, and by type
if len(accesses):
    begin, end = accesses["time_ns"].min(), accesses["time_ns"].max()
    tenth = (accesses["time_ns"] - begin) * 10 // (end - begin + 1)
    print(accesses.pivot_table(index=tenth, columns="type", values="weight",
                               aggfunc="sum", observed=True, fill_value=0)
          .rename_axis("tenth").to_string())

# %% Which pages do several threads touch?
if len(accesses):
    page = accesses["addr"] // 4096
    tasks = accesses.groupby(page)["task"].nunique()
    print("%d of %d pages are touched by several threads" % (
        (tasks > 1).sum(), len(tasks)))

# %% What to do about it, and anything else by SQL
for f in trace.findings:
    print("%s: %s, %s" % (f.finding, f.object, f.fix))
print(trace.query("SELECT object, type, sum(weight) AS n FROM accesses "
                  "GROUP BY 1, 2 ORDER BY n DESC LIMIT 5").to_pandas()
      .to_string(index=False))
trace.close()
