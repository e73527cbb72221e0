"""Write what follows from the modules of the protocol: its documentation and the page's types.

python scripts/protocol.py            write docs/protocol.md, its JSON Schema, and frontend/js/protocol.d.ts
python scripts/protocol.py --check    write nothing; exit status 1 when a file is stale
"""

import argparse
import ast
import inspect
import json
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "agent"))

from fireside_agent import client_frames, messages, protocol  # noqa: E402

SOURCE = "agent/fireside_agent/protocol.py"
SCALARS = {
    msgspec.inspect.StrType: "string",
    msgspec.inspect.IntType: "number",
    msgspec.inspect.FloatType: "number",
    msgspec.inspect.BoolType: "boolean",
    msgspec.inspect.NoneType: "null",
}


@dataclass(frozen=True)
class Field:
    name: str
    type: str
    optional: bool
    """May be left out of the JSON."""
    default: str
    """JSON of the default, or "" where there is none."""
    doc: str


@dataclass(frozen=True)
class Record:
    name: str
    tag: str | None
    doc: str
    fields: list[Field]


@dataclass(frozen=True)
class Section:
    title: str
    records: list[Record]


@dataclass(frozen=True)
class Model:
    """Everything that both outputs say."""

    doc: str
    aliases: dict[str, tuple[Any, ...]]
    sections: list[Section]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a file is stale")
    check = parser.parse_args().check
    stale = [
        path for path, text in outputs().items() if not path.is_file() or path.read_text("utf-8") != text
    ]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is stale: run scripts/protocol.py", file=sys.stderr)
        else:
            path.write_text(outputs()[path], "utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    sys.exit(1 if check and stale else 0)


def outputs() -> dict[Path, str]:
    """The generated files and what each must contain."""
    model = read_model()
    return {
        ROOT / "docs" / "protocol.md": "\n".join(markdown(model)),
        ROOT / "docs" / "protocol.schema.json": json_schema(),
        ROOT / "frontend" / "js" / "protocol.d.ts": "\n".join(typescript(model)),
    }


def read_model() -> Model:
    aliases = {name: get_args(value) for name, value in defined().items() if get_origin(value) is Literal}
    client = list(get_args(protocol.ClientFrame))
    session = [protocol.History, protocol.Rendered, *get_args(protocol.SessionFrame)]
    connection = [frame for frame in get_args(protocol.ServerFrame) if frame not in session]
    structs = [value for value in defined().values() if is_struct(value)]
    values = [struct for struct in structs if struct not in [*client, *session, *connection]]
    reader = Reader(aliases, set(client))
    sections = {
        "Frames from the client": client,
        "Frames from the server about the connection": connection,
        "Frames from the server about one session": session,
        "Values inside the frames": values,
    }
    return Model(
        doc=inspect.cleandoc(protocol.__doc__ or ""),
        aliases=aliases,
        sections=[
            Section(title, [reader.record(struct) for struct in structs])
            for title, structs in sections.items()
        ],
    )


def defined() -> dict[str, Any]:
    """What the modules of the protocol define, by name."""
    return vars(client_frames) | vars(messages) | vars(protocol)


def is_struct(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, msgspec.Struct) and value is not msgspec.Struct


def json_schema() -> str:
    """JSON Schema of all frames: `#/$defs/ClientFrame` and `#/$defs/ServerFrame` are any frame of a side."""
    sides = {"ClientFrame": protocol.ClientFrame, "ServerFrame": protocol.ServerFrame}
    schemas, parts = msgspec.json.schema_components(sides.values(), ref_template="#/$defs/{name}")
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Frames of /ws, version {protocol.PROTOCOL_VERSION}",
        "anyOf": [{"$ref": f"#/$defs/{side}"} for side in sides],
        "$defs": dict(zip(sides, schemas, strict=True)) | parts,
    }
    return json.dumps(whole, indent=1) + "\n"


class Reader:
    """Turns msgspec's description of a struct into a Record."""

    def __init__(self, aliases: dict[str, tuple[Any, ...]], from_client: set[type[msgspec.Struct]]) -> None:
        self._aliases = {frozenset(values): name for name, values in aliases.items()}
        self._from_client = from_client

    def record(self, struct: type[msgspec.Struct]) -> Record:
        info = msgspec.inspect.type_info(struct)
        assert isinstance(info, msgspec.inspect.StructType)
        docs = field_docs(struct)
        # What the server sends is complete unless the struct says otherwise; a client may rely on defaults.
        may_omit = struct in self._from_client or struct.__struct_config__.omit_defaults
        fields = [
            Field(
                name=field.encode_name,
                type=self._type(field.type),
                optional=may_omit and not field.required,
                default="" if field.required else msgspec.json.encode(default_of(field)).decode(),
                doc=docs.get(field.name, ""),
            )
            for field in info.fields
        ]
        tag = info.tag if isinstance(info.tag, str) else None
        return Record(struct.__name__, tag, inspect.cleandoc(struct.__doc__ or ""), fields)

    def _type(self, info: msgspec.inspect.Type) -> str:
        match info:
            case msgspec.inspect.LiteralType():
                return self._aliases.get(frozenset(info.values)) or union_of(info.values)
            case msgspec.inspect.ListType():
                return f"{self._type(info.item_type)}[]"
            case msgspec.inspect.DictType():
                return f"Record<{self._type(info.key_type)}, {self._type(info.value_type)}>"
            case msgspec.inspect.UnionType():
                return " | ".join(self._type(member) for member in info.types)
            case msgspec.inspect.StructType():
                return info.cls.__name__
            case _ if type(info) in SCALARS:
                return SCALARS[type(info)]
            case _:
                raise TypeError(f"scripts/protocol.py has no JSON name for {info!r}: teach it one")


def default_of(field: msgspec.inspect.Field) -> Any:
    return field.default if field.default is not msgspec.NODEFAULT else field.default_factory()  # pyright: ignore[reportCallIssue]


def field_docs(struct: type[msgspec.Struct]) -> dict[str, str]:
    """The strings written under a struct's fields, by field name."""
    (definition,) = ast.parse(inspect.getsource(struct)).body
    assert isinstance(definition, ast.ClassDef)
    docs: dict[str, str] = {}
    for field, after in zip(definition.body, definition.body[1:], strict=False):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(doc))):
                docs[name] = " ".join(doc.split())
            case _:
                pass
    return docs


def union_of(values: tuple[Any, ...]) -> str:
    return " | ".join(msgspec.json.encode(value).decode() for value in values)


def markdown(model: Model) -> Iterator[str]:
    yield "# The `/ws` protocol"
    yield ""
    yield f"<!-- Generated by scripts/protocol.py from {SOURCE}. Do not edit. -->"
    yield ""
    yield f"Version {protocol.PROTOCOL_VERSION}. {model.doc}"
    for section in model.sections:
        yield f"\n## {section.title}"
        for record in section.records:
            yield f"\n### `{record.tag or record.name}`\n"
            yield record.doc
            yield from markdown_fields(record)
    yield "\n## Sets of words\n"
    for name, words in model.aliases.items():
        yield f"- `{name}`: {', '.join(f'`{word}`' for word in words)}"
    yield ""


def markdown_fields(record: Record) -> Iterator[str]:
    if not record.fields:
        return
    yield "\n| field | type | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for field in record.fields:
        kind = field.type.replace("|", "or")
        default = f"`{field.default}`" if field.default else ""
        yield f"| `{field.name}` | {kind} | {default} | {field.doc} |".replace("  |", " |")


def typescript(model: Model) -> Iterator[str]:
    yield f"// Generated by scripts/protocol.py from {SOURCE}. Do not edit."
    yield ""
    for name, words in model.aliases.items():
        yield f"export type {name} = {union_of(words)};"
    for section in model.sections:
        for record in section.records:
            yield ""
            yield from typescript_record(record)
    yield ""
    for name in ("ClientFrame", "SessionFrame", "ServerFrame"):
        union = getattr(protocol, name)
        assert isinstance(union, types.UnionType)
        yield f"export type {name} = {' | '.join(member.__name__ for member in get_args(union))};"
    yield ""


def typescript_record(record: Record) -> Iterator[str]:
    yield from comment(record.doc, "")
    yield f"export interface {record.name} {{"
    if record.tag:
        yield f'  type: "{record.tag}";'
    for field in record.fields:
        yield from comment(field.doc, "  ")
        yield f"  {field.name}{'?' if field.optional else ''}: {field.type};"
    yield "}"


def comment(doc: str, indent: str) -> Iterator[str]:
    lines = doc.splitlines()
    if len(lines) == 1:
        yield f"{indent}/** {doc} */"
    elif lines:
        yield f"{indent}/**"
        yield from (f"{indent} * {line}".rstrip() for line in lines)
        yield f"{indent} */"


if __name__ == "__main__":
    main()
