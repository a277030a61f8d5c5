# SPDX-License-Identifier: LGPL-2.1-or-later
"""A trace, by libmoca. Times are ns since the recording began, as in `moca query`."""
import collections
import ctypes
import os
import struct
import warnings
from ctypes import POINTER, byref, c_char_p, c_size_t, c_uint32, c_void_p

from . import command, errors, library
from .errors import DamageWarning, Error
from .table import Table, numpy

ACCESS_TYPES = ("unknown", "read", "write", "exec")
ACCESS_MODES = ("user", "kernel")
# Of the first access that a count tells.
COUNT_TYPES = ("unknown", "load", "store")
CHANGE_TYPES = {1: "task-start", 2: "task-end", 3: "exec", 4: "name",
                5: "mmap", 6: "munmap", 7: "discard", 8: "gap", 9: "segv"}
NO_TASK = 0xffffffff
METADATA = ("verified", "unverified", "damaged")

# The structures of C once more: quicker than field by field.
_ACCESS = struct.Struct("=QQQQHhBBHII")
_COUNT = struct.Struct("=QQQQB7x")

Access = collections.namedtuple(
    "Access", "time_ns task cpu node type mode addr ip phys interval weight "
    "stack")
Count = collections.namedtuple(
    "Count", "task addr granularity slice begin_ns end_ns loads stores "
    "first_ns first_type")
Change = collections.namedtuple(
    "Change", "time_ns task pid tid type addr len offset prot flags parent "
    "status name")
Event = collections.namedtuple("Event", "time_ns task facility event fields")
Task = collections.namedtuple(
    "Task", [n for n, _ in library.Task._fields_])
Mapping = collections.namedtuple(
    "Mapping", [n for n, _ in library.Mapping._fields_])
Certificate = collections.namedtuple(
    "Certificate", [n for n, _ in library.Certificate._fields_])
Damage = collections.namedtuple(
    "Damage", [n for n, _ in library.Damage._fields_])
Stack = collections.namedtuple("Stack", "frames cut")


def _text(value):
    """What is no UTF-8 becomes U+FFFD, as in moca query."""
    return value.decode(errors="replace") if value is not None else ""


def _named(names, number):
    return names[number] if number < len(names) else "unknown"


class _Cursor:
    """A walk of libmoca: closed with its trace at the latest, which holds it for that:
    of what is garbage together, either may be finalized first."""

    def __init__(self, trace, query):
        self.trace, self.handle = trace, c_void_p()
        number = trace.library.moca_cursor_open(
            byref(self.handle), trace.handle, byref(query))
        if number:
            raise errors.reading(trace.path, -number)
        trace.cursors.add(self)

    def close(self):
        if self.handle:
            self.trace.library.moca_cursor_close(self.handle)
            self.handle = c_void_p()
        self.trace.cursors.discard(self)

    def steps(self, function, pointer, *more):
        """pointer's contents, valid until the next."""
        step = getattr(self.trace.library, function)
        try:
            while True:
                if not self.handle:
                    raise self.trace.closed()
                number = step(self.handle, byref(pointer), *more)
                if number <= 0:
                    break
                yield pointer.contents
            if number:
                raise errors.reading(self.trace.path, -number)
        finally:
            self.close()
        self.trace.warn_of_damage()


class _Walked(Table):
    """What a cursor walks, by task and within a task by time; where() narrows it."""

    row = None

    def __init__(self, trace, query=None):
        self._trace = trace
        self._query = query or library.Query(
            size=ctypes.sizeof(library.Query))

    def columns(self):
        return self.row._fields

    def where(self, from_ns=None, until_ns=None, addr=None, task=None):
        """The same table of times from from_ns to before until_ns, of addresses
        addr=(first, end), of one task by its number."""
        trace, q = self._trace, library.Query()
        ctypes.pointer(q)[0] = self._query
        begin = 0 if from_ns is None else _number("from_ns", from_ns)
        if from_ns is not None:
            q.begin_ns = _number("from_ns", trace.origin_ns + begin)
        if until_ns is not None:
            if _number("until_ns", until_ns) <= begin:
                raise ValueError("until_ns must be later than from_ns")
            q.end_ns = _number("until_ns", trace.origin_ns + until_ns)
        if addr is not None:
            first, end = addr
            if _number("addr", end) <= _number("addr", first):
                raise ValueError("addr is (first, end), and end must be higher "
                                 "than first")
            q.addr_begin, q.addr_end = first, end
        if task is not None:
            if not any(t.id == task for t in trace.tasks):
                raise ValueError("the trace has no task %r" % (task,))
            q.task, q.one_task = task, 1
        return type(self)(trace, q)

    def _steps(self, function, kind, *more):
        trace = self._trace
        trace.check_open()
        return _Cursor(trace, self._query).steps(
            function, POINTER(kind)(), *more)

    def _is_whole(self):
        q = self._query
        return not (q.begin_ns or q.end_ns or q.addr_begin or q.addr_end or
                    q.one_task)


def _number(name, x):
    if not 0 <= x < 1 << 64:
        raise ValueError("%s must be from 0 to 2**64 - 1, not %r" % (name, x))
    return x


def _address_of(pointer):
    return ctypes.cast(pointer, c_void_p).value


def _dtype(fields):
    return numpy().dtype([f for f in fields])


def _view(pointer, count, dtype):
    """`count` structures of C as an array on their memory."""
    np = numpy()
    if not count:
        return np.empty(0, dtype)
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(
        _address_of(pointer))
    array = np.frombuffer(memory, dtype)
    array.flags.writeable = False
    return array


class _Growing:
    """An array that becomes as long as it must."""

    def __init__(self, dtype, expected):
        self._array = numpy().empty(max(expected, 1), dtype)
        self._used = 0

    def more(self, count):
        """`count` rows behind those that are there."""
        used = self._used + count
        if used > len(self._array):
            self._array.resize(max(used, 2 * len(self._array)), refcheck=False)
        self._used = used
        return self._array[used - count:used]

    def end(self):
        self._array.resize(self._used, refcheck=False)
        return self._array


class Accesses(_Walked):
    """The accesses of page mode: struct moca_access."""

    name = "accesses"
    row = Access

    def _chunks(self):
        return self._steps("moca_cursor_chunk", library.Chunk)

    def __iter__(self):
        origin = self._trace.origin_ns
        for c in self._chunks():
            if not c.count:
                continue
            data = ctypes.string_at(c.accesses, c.count * _ACCESS.size)
            task, interval = c.task, c.interval
            for (addr, ip, time_ns, phys, cpu, node, kind, mode, weight, stack,
                 _) in _ACCESS.iter_unpack(data):
                yield Access(
                    time_ns - origin, task, cpu, None if node < 0 else node,
                    _named(ACCESS_TYPES, kind), _named(ACCESS_MODES, mode),
                    addr, ip or None, phys or None, interval, weight,
                    stack or None)

    @staticmethod
    def c_dtype():
        """Of struct moca_access."""
        return _dtype([
            ("addr", "u8"), ("ip", "u8"), ("time_ns", "i8"), ("phys", "u8"),
            ("cpu", "u2"), ("node", "i2"), ("type", "u1"), ("mode", "u1"),
            ("weight", "u2"), ("stack", "u4"), ("reserved", "u4")])

    def arrays(self, copy=True):
        """(task, array) of each chunk, which memory does not grow with.

        With copy=False the array is libmoca's memory itself, without a copy:
        read-only, its times of CLOCK_MONOTONIC (trace.origin_ns earlier than
        zero), and VALID ONLY UNTIL THE NEXT one is asked for or the walk ends:
        to look at it later ends Python."""
        dtype, origin = self.c_dtype(), self._trace.origin_ns
        for c in self._chunks():
            if not c.count:
                continue
            array = _view(c.accesses, c.count, dtype)
            if copy:
                array = array.copy()
                array["time_ns"] -= origin
            yield c.task, array

    def to_numpy(self):
        """All as one structured array. Numbers are as in libmoca: 0 where ip, phys or
        stack is not known, -1 for the node; types and modes are indices of
        moca.ACCESS_TYPES and moca.ACCESS_MODES."""
        fields = [("time_ns", "i8"), ("task", "u4"), ("cpu", "u2"),
                  ("node", "i2"), ("type", "u1"), ("mode", "u1"),
                  ("addr", "u8"), ("ip", "u8"), ("phys", "u8"),
                  ("interval", "u8"), ("weight", "u2"), ("stack", "u4")]
        expected = sum(t.accesses for t in self._trace.tasks) \
            if self._is_whole() else 0
        dtype, origin = self.c_dtype(), self._trace.origin_ns
        all_of_it = _Growing(_dtype(fields), expected)
        for c in self._chunks():
            rows = all_of_it.more(c.count)
            if not c.count:
                continue
            array = _view(c.accesses, c.count, dtype)
            for name, _ in fields:
                if name not in ("task", "interval"):
                    rows[name] = array[name]
            rows["time_ns"] -= origin
            rows["task"], rows["interval"] = c.task, c.interval
        return all_of_it.end()

    def to_pandas(self):
        return _frame(self.to_numpy(), type=ACCESS_TYPES, mode=ACCESS_MODES)


def _frame(array, **categories):
    from .table import pandas
    pd = pandas()
    columns = {}
    for name in array.dtype.names:
        values = array[name]
        if name in categories:
            values = pd.Categorical.from_codes(
                values, categories=list(categories[name]))
        columns[name] = values
    return pd.DataFrame(columns)


class Counts(_Walked):
    """The counts of exact mode: struct moca_count."""

    name = "counts"
    row = Count

    def _chunks(self):
        return self._steps("moca_cursor_counts", library.Counts)

    def __iter__(self):
        origin = self._trace.origin_ns
        for c in self._chunks():
            data = ctypes.string_at(c.rows, c.count * _COUNT.size)
            same = c.granularity, c.slice, c.begin_ns - origin, \
                c.end_ns - origin
            task = c.task
            for addr, loads, stores, first, store in _COUNT.iter_unpack(data):
                yield Count(
                    task, addr, *same, loads, stores,
                    first - origin if first else None,
                    COUNT_TYPES[2 if store else 1] if first else None)

    def to_numpy(self):
        """All as one structured array; first_ns is -2**63 and first_type 0 where the
        first access was not in the slice; first_type is an index of
        moca.COUNT_TYPES."""
        np, origin = numpy(), self._trace.origin_ns
        dtype = _dtype([("addr", "u8"), ("loads", "u8"), ("stores", "u8"),
                        ("first_ns", "i8"), ("first_store", "u8")])
        all_of_it = _Growing(_dtype([
            ("task", "u4"), ("addr", "u8"), ("granularity", "u8"),
            ("slice", "u8"), ("begin_ns", "i8"), ("end_ns", "i8"),
            ("loads", "u8"), ("stores", "u8"), ("first_ns", "i8"),
            ("first_type", "u1")]),
            sum(t.counts for t in self._trace.tasks) if self._is_whole() else 0)
        for c in self._chunks():
            array, rows = _view(c.rows, c.count, dtype), all_of_it.more(c.count)
            for name in ("addr", "loads", "stores"):
                rows[name] = array[name]
            known = array["first_ns"] != 0
            rows["first_ns"] = np.where(known, array["first_ns"] - origin,
                                        np.iinfo("i8").min)
            # Behind the first byte there is nothing.
            rows["first_type"] = np.where(
                known, 1 + (array["first_store"] & 0xff), 0)
            for name in ("task", "granularity", "slice"):
                rows[name] = getattr(c, name)
            rows["begin_ns"] = c.begin_ns - origin
            rows["end_ns"] = c.end_ns - origin
        return all_of_it.end()

    def to_pandas(self):
        array = self.to_numpy()
        frame = _frame(array, first_type=COUNT_TYPES)
        known = array["first_type"] != 0
        frame["first_ns"] = frame["first_ns"].astype("Int64").where(known)
        frame["first_type"] = frame["first_type"].where(known)
        return frame


class Changes(_Walked):
    """What happened to tasks and mappings: struct moca_change."""

    name = "changes"
    row = Change

    def __iter__(self):
        task, origin = c_uint32(), self._trace.origin_ns
        for x in self._steps("moca_cursor_change", library.Change,
                             byref(task)):
            yield Change(
                x.time_ns - origin, task.value, x.pid, x.tid,
                CHANGE_TYPES.get(x.type, "unknown"), x.addr, x.len, x.offset,
                x.prot, x.flags, None if x.parent == NO_TASK else x.parent,
                x.status if x.type == 2 else None, _text(x.name))


class Events(_Walked):
    """What programs emitted, libmoca-alloc included; fields is a dictionary."""

    name = "events"
    row = Event

    def __iter__(self):
        task, origin = c_uint32(), self._trace.origin_ns
        names = {}
        for e in self._steps("moca_cursor_event", library.Event, byref(task)):
            kind = e.type.contents
            if kind.id not in names:
                names[kind.id] = _text(kind.facility), _text(kind.name)
            yield Event(e.time_ns - origin, task.value, *names[kind.id],
                        self._fields_of(e, kind))

    def _fields_of(self, event, kind):
        lib, value, fields = self._trace.library, library.Value(), {}
        for i in range(kind.field_count):
            if lib.moca_event_value(byref(event), i, byref(value)):
                continue
            field = value.field.contents
            fields[_text(field.name)] = _value(lib, value, field)
        return fields


def _value(lib, value, field):
    if field.kind == library.FIELD_STRING:
        return _text(ctypes.string_at(value.data, value.count))
    if field.shape == library.SHAPE_SCALAR:
        return _element(lib, value, field, 0)
    return [_element(lib, value, field, i) for i in range(value.count)]


def _element(lib, value, field, i):
    if field.kind == library.FIELD_FLOAT:
        return lib.moca_value_float(byref(value), i)
    number = lib.moca_value_integer(byref(value), i)
    if field.kind in (library.FIELD_SIGNED, library.FIELD_ENUM):
        number -= (number >> 63) << 64
    if field.kind == library.FIELD_ENUM:
        for k in range(field.label_count):
            if field.labels[k].value == number:
                return _text(field.labels[k].label)
    return number


class _Fixed(Table):
    """A table that is in memory."""

    def __init__(self, name, row, rows):
        self.name, self._row, self._rows = name, row, rows

    def columns(self):
        return self._row._fields

    def __iter__(self):
        return iter(self._rows)

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, i):
        return self._rows[i]


def _copied(x, row, **other):
    """A structure of C as a row, with some values other than there."""
    return row(*(other[n] if n in other else
                 _text(getattr(x, n)) if n == "name" else getattr(x, n)
                 for n in row._fields))


class Trace:
    """A trace that is open: moca.open(). Tables are attributes."""

    def __init__(self, path):
        self.path = os.fsdecode(path)
        self.handle, self.cursors = c_void_p(), set()
        self._tasks = self._warned = None
        try:
            self.library = library.load()
        except OSError as e:
            raise Error("cannot load libmoca: %s; install it (Debian: "
                        "libmoca0), or name it by MOCA_LIBRARY" % e) from None
        name = os.fsencode(path)
        if b"\0" in name:
            raise ValueError("a path has no zero byte: %r" % self.path)
        number = self.library.moca_trace_open(byref(self.handle), name)
        if number:
            raise errors.opening(self.path, -number)
        self.accesses, self.counts = Accesses(self), Counts(self)
        self.changes, self.events = Changes(self), Events(self)
        self.origin_ns = self._origin()

    def _origin(self):
        """As analysis/trace.c has it, so that times are those of moca query."""
        text = self.metadata_value("start_ns") or ""
        if len(text) <= 20 and text.isascii() and text.isdigit() and \
                0 < int(text) < 1 << 63:
            return int(text)
        starts = [t.start_ns for t in self._c_tasks() if t.start_ns]
        return min(starts, default=0)

    # --- open and closed ---

    def closed(self):
        return Error("the trace '%s' is closed" % self.path)

    def check_open(self):
        if not self.handle:
            raise self.closed()

    def close(self):
        """Walks that are not at their end end with an error."""
        for cursor in list(self.cursors):
            cursor.close()
        if self.handle:
            self.library.moca_trace_close(self.handle)
            self.handle = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "library", None):
            self.close()

    def __repr__(self):
        return "<moca trace '%s'>" % self.path

    # --- what is told of the whole ---

    def metadata_value(self, key):
        """The (first) value of a key, or None."""
        self.check_open()
        value = self.library.moca_trace_meta(self.handle, key.encode())
        return None if value is None else _text(value)

    @property
    def metadata(self):
        """{key: [value, ...]}, in the order of the file; doc/format.md has the keys."""
        self.check_open()
        found, value, i = {}, c_char_p(), 0
        while True:
            key = self.library.moca_trace_meta_line(self.handle, i,
                                                    byref(value))
            if key is None:
                return found
            found.setdefault(_text(key), []).append(_text(value.value))
            i += 1

    @property
    def metadata_state(self):
        """'verified', 'unverified' (of an older Moca) or 'damaged'."""
        self.check_open()
        return METADATA[self.library.moca_trace_metadata(self.handle)]

    @property
    def truncated(self):
        """Whether the recorder was cut off."""
        self.check_open()
        return bool(self.library.moca_trace_truncated(self.handle))

    @property
    def certificate(self):
        self.check_open()
        c = library.Certificate()
        self.library.moca_trace_certificate(self.handle, byref(c))
        return _copied(c, Certificate)

    @property
    def damage(self):
        """What opening and all walks found wrong so far; all 0: nothing."""
        self.check_open()
        d = library.Damage()
        self.library.moca_trace_damage(self.handle, byref(d))
        return _copied(d, Damage)

    def warn_of_damage(self):
        """Once for each kind of damage, and what is left out is not told as all."""
        if not self.handle:
            return
        d = self.damage
        if any(d) and d != self._warned:
            self._warned = d
            warnings.warn(
                "parts of '%s' are missing, or are damaged and were left out: %d files, %d "
                "chunks, %d bytes at the end of files ('moca check' says more)"
                % (self.path, *d), DamageWarning, stacklevel=4)

    # --- tables ---

    def _c_tasks(self):
        self.check_open()
        for i in range(self.library.moca_trace_task_count(self.handle)):
            yield self.library.moca_trace_task(self.handle, i).contents

    @property
    def tasks(self):
        """Threads, by id."""
        if self._tasks is None:
            self._tasks = _Fixed("tasks", Task, [
                _copied(t, Task,
                        parent=None if t.parent == NO_TASK else t.parent,
                        start_ns=self._since(t.start_ns),
                        end_ns=self._since(t.end_ns),
                        status=t.status if t.end_ns and not t.flags & 16
                        else None)
                for t in self._c_tasks()])
        return self._tasks

    def _since(self, ns):
        return ns - self.origin_ns if ns else None

    @property
    def mappings(self):
        """All mappings of all processes that ever were."""
        self.check_open()
        maps, count = POINTER(library.Mapping)(), c_size_t()
        number = self.library.moca_trace_mappings(self.handle, byref(maps),
                                                  byref(count))
        if number:
            raise errors.reading(self.path, -number)
        return _Fixed("mappings", Mapping, [
            _copied(maps[i], Mapping, begin_ns=maps[i].begin_ns - self.origin_ns,
                    end_ns=self._since(maps[i].end_ns))
            for i in range(count.value)])

    def stack(self, number):
        """The call stack of that number: addresses, the innermost first, and whether
        the outermost are cut off."""
        self.check_open()
        s = library.Stack()
        if not 0 < number < 1 << 32 or \
                self.library.moca_trace_stack(self.handle, number, byref(s)):
            raise KeyError("the trace has no call stack %r" % (number,))
        return Stack(tuple(s.frames[:s.count]), bool(s.flags & 1))

    # --- what the command moca computes ---

    def table(self, name):
        """A table of `moca query` by its name, computed by the command moca."""
        return command.CommandTable(os.path.abspath(self.path), name)

    def query(self, sql):
        """The rows of one SELECT over the tables of `moca query`."""
        return command.query(os.path.abspath(self.path), sql)

    @property
    def objects(self):
        """Data structures, as `moca objects` lists them."""
        return self.table("objects")

    @property
    def instances(self):
        """The single blocks, variables and stacks of these."""
        return self.table("instances")

    @property
    def allocations(self):
        """What the program allocated, in so far as single allocations are told."""
        return self.table("allocations")

    @property
    def stacks(self):
        """The functions of call stacks."""
        return self.table("stacks")

    @property
    def rates(self):
        """Page faults and CPU time by time."""
        return self.table("rates")

    @property
    def findings(self):
        """What `moca summary` advises."""
        return self.table("findings")
