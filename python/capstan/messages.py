"""Protocol buffer messages, small: keyword arguments, attributes, the wire format, text.

A class lists its fields as lines "number type name", with "repeated", "map<key,value>" and enum
types as "enum"; messages of messages name the class. Enough for TensorFlow's configuration,
cluster, graph, summary and example messages, at a hundredth of the full library's import time.
"""

import struct

_SCALARS = {
    "int32": (0, 0),
    "int64": (0, 0),
    "uint32": (0, 0),
    "uint64": (0, 0),
    "bool": (0, False),
    "enum": (0, 0),
    "string": (2, ""),
    "bytes": (2, b""),
    "float": (5, 0.0),
    "double": (1, 0.0),
    "fixed32": (5, 0),
    "fixed64": (1, 0),
}
_STRUCTS = {"float": "<f", "double": "<d", "fixed32": "<I", "fixed64": "<Q"}


class Field:
    __slots__ = ("number", "type", "name", "repeated", "key", "oneof", "_owner")

    def __init__(self, line, owner, oneof=""):
        words = line.split()
        self.repeated = words[1] == "repeated"
        self.key = ""
        if self.repeated:
            words.pop(1)
        if words[1].startswith("map<"):
            self.key, words[1] = words[1][4:-1].split(",")
        self.number, self.type, self.name = int(words[0]), words[1], words[2]
        self.oneof = oneof
        self._owner = owner

    @property
    def scalar(self):
        return self.type in _SCALARS

    def message(self):
        """The class of a field that holds messages: nested in its owner, or beside it."""
        import sys

        found = sys.modules[self._owner.__module__]
        nested = getattr(self._owner, self.type, None)
        return nested if nested is not None else getattr(found, self.type)

    def default(self):
        if self.key:
            return _Map(self)
        if self.repeated:
            return _List(self)
        return _SCALARS[self.type][1] if self.scalar else self.message()()

    def check(self, value):
        if self.type in ("string", "bytes"):
            return _text_or_bytes(value, self.type)
        if self.scalar:
            return _number(value, self)
        kind = self.message()
        if isinstance(value, dict):
            return kind(**value)
        if not isinstance(value, kind):
            raise TypeError("%s must be a %s, not %r" % (self.name, kind.__name__, value))
        return value


def _text_or_bytes(value, kind):
    if isinstance(value, str):
        return value.encode() if kind == "bytes" else value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace") if kind == "string" else value
    raise TypeError("expected %s, not %r" % (kind, value))


def _number(value, field):
    if field.type in ("float", "double"):
        return float(value)
    if field.type == "bool":
        return bool(value)
    if isinstance(value, str):
        raise TypeError("%s must be a number, not %r" % (field.name, value))
    return int(value)


class _List(list):
    """A repeated field."""

    def __init__(self, field, values=()):
        super().__init__(field.check(value) for value in values)
        self._field = field

    def append(self, value):
        super().append(self._field.check(value))

    def extend(self, values):
        super().extend(self._field.check(value) for value in values)

    def add(self, **values):
        made = self._field.message()(**values)
        super().append(made)
        return made

    def __reduce__(self):
        return list, (list(self),)


class _Map(dict):
    """A map field; a missing message appears when it is asked for."""

    def __init__(self, field, values=()):
        super().__init__()
        self._field = field
        for key, value in dict(values).items():
            self[key] = value

    def __missing__(self, key):
        if self._field.scalar:
            raise KeyError(key)
        super().__setitem__(key, self._field.message()())
        return self[key]

    def __setitem__(self, key, value):
        super().__setitem__(key, self._field.check(value))

    def __reduce__(self):
        return dict, (dict(self),)


class Message:
    """Base of all messages."""

    FIELDS = ""
    _table = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        oneof, table = "", {}
        for line in cls.FIELDS.strip().splitlines():
            words = line.split()
            if words and words[0] in ("oneof", "end"):
                oneof = words[1] if words[0] == "oneof" else ""
            elif words:
                field = Field(line, cls, oneof)
                table[field.name] = field
        cls._table = table

    def __init__(self, **values):
        object.__setattr__(self, "_set", {})
        for name, value in values.items():
            if value is not None:
                setattr(self, name, value)

    def _field(self, name):
        field = self._table.get(name)
        if field is None:
            known = ", ".join(sorted(self._table))
            message = "%s has no field '%s'; it has %s" % (type(self).__name__, name, known)
            raise AttributeError(message)
        return field

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        field = self._field(name)
        if name not in self._set:
            value = field.default()
            # A scalar stays unset until it is given; a container may be filled through this object.
            if field.scalar and not field.repeated and not field.key:
                return value
            self._set[name] = value
        return self._set[name]

    def __setattr__(self, name, value):
        try:
            field = self._field(name)
        except AttributeError as error:
            raise ValueError(str(error)) from None
        if field.oneof:
            self.ClearField(self.WhichOneof(field.oneof))
        if field.key:
            value = _Map(field, value)
        elif field.repeated:
            value = _List(field, value)
        else:
            value = field.check(value)
        self._set[name] = value

    def _present(self, name):
        """Whether a field would be written: containers that were only looked at are not."""
        if name not in self._set:
            return False
        field, value = self._table[name], self._set[name]
        if field.repeated or field.key:
            return bool(value)
        if field.scalar:
            return bool(field.oneof) or value != field.default()
        return bool(field.oneof) or any(value._present(inner) for inner in value._table)

    def HasField(self, name):
        self._field(name)
        return name in self._set and (self._present(name) or bool(self._table[name].oneof))

    def WhichOneof(self, oneof):
        for name in self._set:
            if self._table[name].oneof == oneof:
                return name
        return None

    def ClearField(self, name):
        self._set.pop(name, None)

    def Clear(self):
        self._set.clear()

    def ListFields(self):
        fields = sorted(self._table.values(), key=lambda f: f.number)
        return [(f, self._set[f.name]) for f in fields if self._present(f.name)]

    def CopyFrom(self, other):
        self.Clear()
        self.MergeFrom(other)

    def MergeFrom(self, other):
        self.MergeFromString(other.SerializeToString())

    def SerializeToString(self, deterministic=None):
        return b"".join(_encode_field(field, value) for field, value in self.ListFields())

    def ByteSize(self):
        return len(self.SerializeToString())

    def ParseFromString(self, data):
        self.Clear()
        return self.MergeFromString(data)

    def MergeFromString(self, data):
        by_number = {field.number: field for field in self._table.values()}
        for number, wire, payload in _records(bytes(data)):
            if number in by_number:
                _decode_field(self, by_number[number], wire, payload)
        return len(data)

    @classmethod
    def FromString(cls, data):
        made = cls()
        made.ParseFromString(data)
        return made

    def __eq__(self, other):
        return type(self) is type(other) and self.SerializeToString() == other.SerializeToString()

    def __ne__(self, other):
        return not self == other

    __hash__ = object.__hash__

    def __str__(self):
        return "".join(_text_lines(self, ""))

    __repr__ = __str__

    def __reduce__(self):
        return _rebuild, (type(self), self.SerializeToString())


def _rebuild(kind, data):
    return kind.FromString(data)


# --- The wire format ----------------------------------------------------------------------------


def _varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _encode_one(kind, value):
    if kind in _STRUCTS:
        return struct.pack(_STRUCTS[kind], value)
    if kind == "string":
        value = value.encode()
    if kind in ("string", "bytes"):
        return _varint(len(value)) + value
    return _varint(int(value))


def _encode_item(field, value):
    if not field.scalar:
        data = value.SerializeToString()
        return _varint(field.number << 3 | 2) + _varint(len(data)) + data
    return _varint(field.number << 3 | _SCALARS[field.type][0]) + _encode_one(field.type, value)


def _encode_entry(field, key, value):
    wire = _SCALARS[field.key][0]
    entry = _varint(1 << 3 | wire) + _encode_one(field.key, key)
    if field.scalar:
        entry += _varint(2 << 3 | _SCALARS[field.type][0]) + _encode_one(field.type, value)
    else:
        data = value.SerializeToString()
        entry += _varint(2 << 3 | 2) + _varint(len(data)) + data
    return _varint(field.number << 3 | 2) + _varint(len(entry)) + entry


def _encode_field(field, value):
    if field.key:
        return b"".join(_encode_entry(field, key, value[key]) for key in sorted(value))
    if not field.repeated:
        return _encode_item(field, value)
    if field.scalar and field.type not in ("string", "bytes"):
        data = b"".join(_encode_one(field.type, item) for item in value)
        return _varint(field.number << 3 | 2) + _varint(len(data)) + data
    return b"".join(_encode_item(field, item) for item in value)


class DecodeError(ValueError):
    """Bytes that are not a message."""


def _read_varint(data, at):
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise DecodeError("the message ends within a number")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _records(data):
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        wire = tag & 7
        if wire == 0:
            payload, at = _read_varint(data, at)
        elif wire in (1, 2, 5):
            size = 8 if wire == 1 else 4
            if wire == 2:
                size, at = _read_varint(data, at)
            payload, at = data[at : at + size], at + size
            if at > len(data):
                raise DecodeError("the message ends within a field")
        else:
            raise DecodeError("wire type %d cannot be read" % wire)
        yield tag >> 3, wire, payload


def _decode_one(kind, payload):
    if kind in _STRUCTS:
        return struct.unpack(_STRUCTS[kind], payload)[0]
    if kind == "string":
        return payload.decode("utf-8", "replace")
    if kind == "bytes":
        return payload
    if kind == "bool":
        return bool(payload)
    if kind in ("int32", "int64", "enum") and payload >= 1 << 63:
        return payload - (1 << 64)
    return payload


def _decode_packed(kind, data):
    if kind in _STRUCTS:
        return [item[0] for item in struct.iter_unpack(_STRUCTS[kind], data)]
    items, at = [], 0
    while at < len(data):
        number, at = _read_varint(data, at)
        items.append(_decode_one(kind, number))
    return items


def _decode_entry(message, field, payload):
    key = _SCALARS[field.key][1]
    value = _SCALARS[field.type][1] if field.scalar else field.message()()
    for number, _, inner in _records(payload):
        if number == 1:
            key = _decode_one(field.key, inner)
        elif number == 2:
            value = (
                _decode_one(field.type, inner)
                if field.scalar
                else field.message().FromString(inner)
            )
    getattr(message, field.name)[key] = value


def _decode_field(message, field, wire, payload):
    if field.key:
        _decode_entry(message, field, payload)
    elif not field.scalar:
        if field.repeated:
            getattr(message, field.name).append(field.message().FromString(payload))
        else:
            if field.oneof and message.WhichOneof(field.oneof) != field.name:
                setattr(message, field.name, field.message()())
            getattr(message, field.name).MergeFromString(payload)
    elif field.repeated:
        packed = wire == 2 and field.type not in ("string", "bytes")
        values = (
            _decode_packed(field.type, payload) if packed else [_decode_one(field.type, payload)]
        )
        getattr(message, field.name).extend(values)
    else:
        setattr(message, field.name, _decode_one(field.type, payload))


# --- Text ---------------------------------------------------------------------------------------


def _text_of(kind, value):
    if kind == "string":
        return '"%s"' % value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    if kind == "bytes":
        return '"%s"' % repr(value)[2:-1].replace('"', '\\"')
    if kind == "bool":
        return "true" if value else "false"
    return "%.9g" % value if kind in ("float", "double") else str(value)


def _text_lines(message, indent):
    for field, value in message.ListFields():
        if field.key:
            for key in sorted(value):
                yield "%s%s {\n" % (indent, field.name)
                yield "%s  key: %s\n" % (indent, _text_of(field.key, key))
                yield from _text_item(field, "value", value[key], indent + "  ")
                yield indent + "}\n"
        else:
            for item in value if field.repeated else [value]:
                yield from _text_item(field, field.name, item, indent)


def _text_item(field, name, value, indent):
    if field.scalar:
        yield "%s%s: %s\n" % (indent, name, _text_of(field.type, value))
        return
    yield "%s%s {\n" % (indent, name)
    yield from _text_lines(value, indent + "  ")
    yield indent + "}\n"
