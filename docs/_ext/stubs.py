"""Signatures of compiled functions and classes, which have none of their own, from the .pyi beside their module.

For a class the page must name one, whatever it is: else Sphinx has none that could be replaced.
"""

from __future__ import annotations

import ast
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


@functools.cache
def _signatures(module: str) -> dict[str, str]:
    """Dotted name within a module -> its signature in the stub; of a class, that of __init__."""
    file = getattr(sys.modules.get(module), "__file__", None)
    stub = Path(file).parent / (module.rsplit(".", 1)[-1] + ".pyi") if file else None
    if stub is None or not stub.is_file():
        return {}
    found: dict[str, str] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                found.setdefault(f"{prefix}{node.name}", _signature(node))
                if node.name in ("__init__", "__new__"):
                    found.setdefault(prefix[:-1], found[f"{prefix}{node.name}"])

    visit(ast.parse(stub.read_text()).body, "")
    return found


def _signature(node: ast.FunctionDef) -> str:
    """Names and defaults."""
    arguments = node.args
    for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
        if each is not None:
            each.annotation = None
    for each in (arguments.posonlyargs, arguments.args):
        if each and each[0].arg in ("self", "cls"):
            del each[0]
            break
    return f"({ast.unparse(arguments)})"


def signature(_app: Sphinx, _what: str, _name: str, thing: Any, *_more: Any) -> tuple[str, None] | None:
    """What autodoc asks for each."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    found = _signatures(module).get(name) if module and name else None
    return None if found is None else (found, None)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True}
