# SPDX-License-Identifier: LGPL-2.1-or-later
"""Traces of Moca in Python, by libmoca alone; nothing needs to be built.

    import moca
    with moca.open("t") as t:
        print(t.certificate.pages_seen, t.metadata_value("command"))
        for a in t.accesses.where(from_ns=10**9, task=0):
            print(a.time_ns, hex(a.addr), a.type)
        frame = t.accesses.to_pandas()
        for o in t.objects:
            print(o.object, o.site, o.accesses)
        t.query("SELECT object, sum(weight) FROM accesses GROUP BY object")

accesses, counts, changes, events, tasks and mappings are libmoca's; objects,
instances, allocations, stacks, rates, findings, table(NAME) and query(SQL) are
computed by the command moca. The manual page is moca-python(3).
"""
from .errors import DamageWarning, Error
from .trace import (ACCESS_MODES, ACCESS_TYPES, COUNT_TYPES, Access, Certificate,
                    Change, Count, Damage, Event, Mapping, Stack, Task, Trace)

__all__ = ["ACCESS_MODES", "ACCESS_TYPES", "COUNT_TYPES", "Access",
           "Certificate", "Change", "Count", "Damage", "DamageWarning", "Error", "Event", "Mapping",
           "Stack", "Task", "Trace", "open"]


def open(path):
    """The trace in directory `path`, for `with` or until its close(). moca.Error
    says why it cannot be read."""
    return Trace(path)
