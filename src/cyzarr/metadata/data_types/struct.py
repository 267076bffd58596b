"""Records of named fields.

Status        registered extension (zarr-extensions)
Specification https://github.com/zarr-developers/zarr-extensions/tree/main/data-types/struct
Aliases       none
Example       {"name": "struct", "configuration": {"fields": [{"name": "x", "data_type": "float32"},
                 {"name": "label", "data_type": "uint8"}]}}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cyzarr.metadata.checks import array_of, data_type_field, object_of, required, string
from cyzarr.metadata.definitions import Configuration, DataTypeDefinition, fill_value_problems, storage_of
from cyzarr.metadata.fields import Nested
from cyzarr.metadata.problems import ValidationProblem
from cyzarr.metadata.text import shown


def rules(configuration: Configuration, nested: Nested) -> Iterator[ValidationProblem]:
    """One field at least, each with a name of its own and values of fixed size."""
    fields = configuration["fields"]
    if not fields:
        yield ValidationProblem(("fields",), "expected one field at least, found none", "invalid_value")
    seen: set[str] = set()
    for index, field in enumerate(fields):
        name = field["name"]
        at = ("fields", index, "name")
        if not name:
            yield ValidationProblem(at, "expected a name, got an empty one", "invalid_value")
        if name in seen:
            yield ValidationProblem(at, f"expected a name that no field before has, got {shown(name)}", "invalid_value")
        seen.add(name)
        place = ("fields", index, "data_type")
        if storage_of(nested[place]) == "variable_length":
            message = f"expected values of fixed size, got {nested[place].name}"
            yield ValidationProblem(place, message, "invalid_value")


def fill_value(configuration: Configuration, nested: Nested, value: Any) -> Iterator[ValidationProblem]:
    """An object with a value for each field."""
    if type(value) is not dict:
        message = f"expected an object with a value for each field, got {shown(value)}"
        yield ValidationProblem((), message, "invalid_type")
        return
    names = [field["name"] for field in configuration["fields"]]
    for index, name in enumerate(names):
        if name not in value:
            yield ValidationProblem((name,), f"expected a value for the field {shown(name)}, found none", "missing_key")
        else:
            for problem in fill_value_problems(nested["fields", index, "data_type"], value[name]):
                yield problem.below((name,))
    for key in value:
        if key not in names:
            yield ValidationProblem((key,), f"expected no value for {shown(key)}, which is no field", "unknown_key")


def storage(configuration: Configuration, nested: Nested) -> str | None:
    """Several bytes if any field's values take several; one if all fields' do; else unknown."""
    found = {storage_of(nested["fields", index, "data_type"]) for index in range(len(configuration["fields"]))}
    if "multi_byte" in found:
        return "multi_byte"
    return "single_byte" if found == {"single_byte"} else None


STRUCT = DataTypeDefinition(
    name="struct",
    configuration={
        "fields": required(array_of(object_of({"name": required(string), "data_type": required(data_type_field)})))
    },
    rules=rules,
    storage=storage,
    numbers="none",
    fill_value=fill_value,
)
