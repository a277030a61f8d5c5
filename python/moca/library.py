# SPDX-License-Identifier: LGPL-2.1-or-later
"""libmoca as ctypes sees it: the structures of <moca/reader.h>, <moca/types.h>, and its
functions. tests/python/layout holds both against the headers."""
import ctypes
import os
import re
from ctypes import (POINTER, Structure, c_char_p, c_double, c_int, c_int16, c_int32,
                    c_int64, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p)


class Task(Structure):
    _fields_ = [
        ("id", c_uint32), ("pid", c_uint32), ("tid", c_uint32),
        ("parent", c_uint32), ("start_ns", c_uint64), ("end_ns", c_uint64),
        ("status", c_int32), ("flags", c_uint32), ("name", c_char_p),
        ("chunks", c_uint64), ("accesses", c_uint64), ("reads", c_uint64),
        ("writes", c_uint64), ("lost", c_uint64), ("events", c_uint64),
        ("events_lost", c_uint64), ("events_torn", c_uint64),
        ("counts", c_uint64), ("loads", c_uint64), ("stores", c_uint64),
        ("weight", c_uint64), ("read_weight", c_uint64),
        ("write_weight", c_uint64), ("top_weight", c_uint32)]


class Access(Structure):
    _fields_ = [
        ("addr", c_uint64), ("ip", c_uint64), ("time_ns", c_uint64),
        ("phys", c_uint64), ("cpu", c_uint16), ("node", c_int16),
        ("type", c_uint8), ("mode", c_uint8), ("weight", c_uint16),
        ("stack", c_uint32), ("reserved", c_uint32)]


class Chunk(Structure):
    _fields_ = [
        ("task", c_uint32), ("number", c_uint64), ("interval", c_uint64),
        ("begin_ns", c_uint64), ("end_ns", c_uint64), ("lost", c_uint64),
        ("reads", c_uint64), ("writes", c_uint64), ("bytes", c_uint64),
        ("more", c_int), ("cpumask", c_uint64 * 16), ("count", c_size_t),
        ("accesses", POINTER(Access)), ("weight", c_uint64),
        ("read_weight", c_uint64), ("write_weight", c_uint64),
        ("top_weight", c_uint32)]


class Count(Structure):
    _fields_ = [
        ("addr", c_uint64), ("loads", c_uint64), ("stores", c_uint64),
        ("first_ns", c_uint64), ("first_store", c_uint8)]


class Counts(Structure):
    _fields_ = [
        ("task", c_uint32), ("number", c_uint64), ("slice", c_uint64),
        ("begin_ns", c_uint64), ("end_ns", c_uint64),
        ("granularity", c_uint64), ("loads", c_uint64), ("stores", c_uint64),
        ("bytes", c_uint64), ("more", c_int), ("count", c_size_t),
        ("rows", POINTER(Count))]


class Change(Structure):
    _fields_ = [
        ("time_ns", c_uint64), ("addr", c_uint64), ("len", c_uint64),
        ("offset", c_uint64), ("type", c_uint32), ("flags", c_uint32),
        ("prot", c_uint32), ("pid", c_uint32), ("tid", c_uint32),
        ("parent", c_uint32), ("status", c_int32), ("name", c_char_p),
        ("memory", c_uint32), ("dev", c_uint64), ("ino", c_uint64)]


class Mapping(Structure):
    _fields_ = [
        ("pid", c_uint32), ("addr", c_uint64), ("len", c_uint64),
        ("begin_ns", c_uint64), ("end_ns", c_uint64), ("prot", c_uint32),
        ("flags", c_uint32), ("offset", c_uint64), ("name", c_char_p),
        ("memory", c_uint32), ("dev", c_uint64), ("ino", c_uint64)]


class Certificate(Structure):
    _fields_ = [
        ("pages_seen", c_uint64), ("pages_touched", c_uint64),
        ("pages_other", c_uint64), ("records", c_uint64), ("lost", c_uint64),
        ("chunks", c_uint64), ("lossy_chunks", c_uint64), ("loads", c_uint64),
        ("stores", c_uint64), ("gaps", c_uint64), ("pages_blind", c_uint64)]


class Damage(Structure):
    _fields_ = [("files", c_uint64), ("chunks", c_uint64),
                ("tail_bytes", c_uint64)]


class Query(Structure):
    _fields_ = [
        ("size", c_size_t), ("begin_ns", c_uint64), ("end_ns", c_uint64),
        ("addr_begin", c_uint64), ("addr_end", c_uint64), ("task", c_uint32),
        ("one_task", c_uint32)]


class Stack(Structure):
    _fields_ = [("frames", POINTER(c_uint64)), ("count", c_uint32),
                ("flags", c_uint32)]


class FieldLabel(Structure):
    _fields_ = [("value", c_int64), ("label", c_char_p)]


class Field(Structure):
    _fields_ = [
        ("name", c_char_p), ("kind", c_uint8), ("shape", c_uint8),
        ("size", c_uint8), ("count", c_uint32), ("label_count", c_size_t),
        ("labels", POINTER(FieldLabel))]


class EventType(Structure):
    _fields_ = [
        ("id", c_uint32), ("facility", c_char_p), ("name", c_char_p),
        ("field_count", c_size_t), ("fields", POINTER(Field))]


class Event(Structure):
    _fields_ = [
        ("time_ns", c_uint64), ("type", POINTER(EventType)),
        ("payload", POINTER(c_uint8)), ("len", c_size_t), ("lost", c_uint64)]


class Value(Structure):
    _fields_ = [("field", POINTER(Field)), ("data", POINTER(c_uint8)),
                ("count", c_size_t)]


# By the name of the structure in C.
STRUCTURES = {
    "moca_task": Task, "moca_access": Access, "moca_chunk": Chunk,
    "moca_count": Count, "moca_counts": Counts, "moca_change": Change,
    "moca_mapping": Mapping, "moca_certificate": Certificate,
    "moca_damage": Damage, "moca_query": Query, "moca_stack": Stack,
    "moca_field_label": FieldLabel, "moca_field": Field,
    "moca_event_type": EventType, "moca_event": Event, "moca_value": Value}

# Of fields: enum moca_field_kind, enum moca_field_shape.
FIELD_FLOAT, FIELD_ENUM, FIELD_STRING = 4, 5, 6
FIELD_SIGNED = 2
SHAPE_SCALAR = 0

_HANDLE = c_void_p
# Result, arguments.
FUNCTIONS = {
    "moca_trace_open": (c_int, POINTER(_HANDLE), c_char_p),
    "moca_trace_close": (None, _HANDLE),
    "moca_trace_meta": (c_char_p, _HANDLE, c_char_p),
    "moca_trace_meta_line": (c_char_p, _HANDLE, c_size_t, POINTER(c_char_p)),
    "moca_trace_metadata": (c_int, _HANDLE),
    "moca_trace_truncated": (c_int, _HANDLE),
    "moca_trace_certificate": (None, _HANDLE, POINTER(Certificate)),
    "moca_trace_task_count": (c_size_t, _HANDLE),
    "moca_trace_task": (POINTER(Task), _HANDLE, c_size_t),
    "moca_trace_damage": (None, _HANDLE, POINTER(Damage)),
    "moca_trace_stack": (c_int, _HANDLE, c_uint32, POINTER(Stack)),
    "moca_trace_mappings": (c_int, _HANDLE, POINTER(POINTER(Mapping)),
                            POINTER(c_size_t)),
    "moca_cursor_open": (c_int, POINTER(_HANDLE), _HANDLE, POINTER(Query)),
    "moca_cursor_close": (None, _HANDLE),
    "moca_cursor_chunk": (c_int, _HANDLE, POINTER(POINTER(Chunk))),
    "moca_cursor_counts": (c_int, _HANDLE, POINTER(POINTER(Counts))),
    "moca_cursor_change": (c_int, _HANDLE, POINTER(POINTER(Change)),
                           POINTER(c_uint32)),
    "moca_cursor_event": (c_int, _HANDLE, POINTER(POINTER(Event)),
                          POINTER(c_uint32)),
    "moca_event_value": (c_int, POINTER(Event), c_size_t, POINTER(Value)),
    "moca_value_integer": (c_uint64, POINTER(Value), c_size_t),
    "moca_value_float": (c_double, POINTER(Value), c_size_t)}


def beside(*parts):
    """A path below the folder that the package is installed in (PREFIX), as
    PREFIX/lib/python3/dist-packages/moca is; None: it is not there."""
    path = os.path.dirname(os.path.abspath(__file__))
    if not re.search("/lib/python3[.0-9]*/(dist|site)-packages/moca$", path):
        return None
    path = os.path.normpath(os.path.join(path, "../../../..", *parts))
    return path if os.path.exists(path) else None


def load():
    """The library with its functions' types; OSError where there is none."""
    path = (os.environ.get("MOCA_LIBRARY") or beside("lib", "libmoca.so.0") or
            "libmoca.so.0")
    library = ctypes.CDLL(path)
    for name, (result, *arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise OSError("%s has no function %s: it is of another version of "
                          "Moca" % (path, name)) from None
        function.restype, function.argtypes = result, arguments
    return library
