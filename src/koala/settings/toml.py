"""Settings as TOML: build dataclasses from plain values, checking names and types, and back."""

import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from koala.errors import FileError, KoalaError
from koala.files import read_text

_Settings = TypeVar("_Settings")


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; a syntax error raises KoalaError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise KoalaError(f"Not TOML: {error}.") from None


def read_values(path: Path, readers: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Read a settings file as plain values, merged with the file that it `extends`.

    `readers` are the files that led to this one by `extends`.
    """
    if path in readers:
        raise FileError(path, "extends itself. Remove `extends`, or name another file.")
    try:
        values = parse_toml(read_text(path))
    except FileError:
        raise
    except KoalaError as error:
        raise FileError(path, str(error)) from None
    base = values.pop("extends", None)
    if base is None:
        return values
    if not isinstance(base, str):
        raise FileError(path, f"extends is {base!r}; expected the name of a settings file.")
    merged = read_values(path.parent / base, (*readers, path))
    return merge_values(merged, values)


def merge_values(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Override the values of a base, table by table."""
    merged = dict(base)
    for name, value in values.items():
        old = merged.get(name)
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            value = {**old, **value}
        merged[name] = value
    return merged


def build_settings(kind: type[_Settings], values: Mapping[str, Any], where: str = "") -> _Settings:
    """Build a dataclass from plain values, checking names and types.

    `where` is the name of the table with a dot, for messages.
    """
    if not is_dataclass(kind):
        raise TypeError(kind)
    hints = typing.get_type_hints(kind)
    known = {each.name for each in fields(kind)}
    for name in values:
        if name not in known:
            raise KoalaError(f"{where}{name} is unknown. Known names: {', '.join(sorted(known))}.")
    built = {name: _convert(hints[name], value, f"{where}{name}") for name, value in values.items()}
    return typing.cast(_Settings, kind(**built))


def _convert(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401
    if is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise KoalaError(f"{where} is {value!r}; expected a table.")
        return build_settings(typing.cast(type[Any], hint), value, f"{where}.")
    options = _options(hint)
    if typing.get_origin(hint) is Literal:
        if value not in options:
            raise KoalaError(f"{where} is {value!r}; expected one of {', '.join(options)}.")
        return value
    if float in options and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) not in options:
        names = " or ".join(option.__name__ for option in options if option is not type(None))
        raise KoalaError(f"{where} is {value!r}; expected {names}.")
    return value


def _options(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) in (typing.Union, Literal):
        return typing.get_args(hint)
    return (hint,)


def describe_differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Name the values that differ, also inside tables; empty if none does.

    >>> describe_differences({"seed": 0, "head": {"epochs": 1}}, {"seed": 0, "head": {"epochs": 2}})
    'head.epochs: 1 there, 2 here'
    """
    old, new = _flatten(there), _flatten(here)
    return "; ".join(
        f"{name}: {old.get(name)!r} there, {new.get(name)!r} here"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    )


def _flatten(tables: Mapping[str, Any]) -> dict[str, object]:
    """Give values in tables as one table: `training.batch`."""
    flat: dict[str, object] = {}
    for name, value in tables.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": each for key, each in value.items()}
        else:
            flat[name] = value
    return flat


def write_toml(values: Mapping[str, Any]) -> str:
    """Give plain values and one level of tables as TOML; None is left out, as TOML has no null."""
    lines = [_line(k, v) for k, v in values.items() if not isinstance(v, Mapping) and v is not None]
    for name, table in values.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{name}]"]
            lines += [_line(key, value) for key, value in table.items() if value is not None]
    return "\n".join(lines) + "\n"


def _line(key: str, value: object) -> str:
    if isinstance(value, bool):
        return f"{key} = {str(value).lower()}"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'{key} = "{escaped}"'
    return f"{key} = {value!r}"
