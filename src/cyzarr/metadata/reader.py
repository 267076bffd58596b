"""Reading one metadata field and those inside it, and asking definitions' hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, TypeVar

from cyzarr.metadata.checks import Findings, NestedField, check_members
from cyzarr.metadata.context import Context, raw_bits
from cyzarr.metadata.definitions import RAW_BITS, CodecDefinition, Definition, well_named
from cyzarr.metadata.envelope import envelope_problems, name_problem, split
from cyzarr.metadata.fields import NOTHING, Field
from cyzarr.metadata.jsonvalues import is_object, json_value
from cyzarr.metadata.problems import Loc, ValidationProblem

T = TypeVar("T")


class Reader:
    """One reading: the context, all problems found so far, and all doubts of a decoder.

    Parameters
    ----------
    context
        Who claims which name.
    strict_hooks
        Whether what a hook raises is passed on (with a note), which helps who writes a definition.
        Else it is a doubt, and what the hook was asked stays unknown.
    """

    __slots__ = ("context", "doubts", "problems", "strict_hooks")

    def __init__(self, context: Context, strict_hooks: bool = False) -> None:
        self.context = context
        self.strict_hooks = strict_hooks
        self.problems: list[ValidationProblem] = []
        self.doubts: list[ValidationProblem] = []

    def report(self, loc: Loc, message: str, kind: str) -> None:
        self.problems.append(ValidationProblem(loc, message, kind))

    # -- hooks ---------------------------------------------------------------------------------

    def ask(self, definition: Definition, hook: str, loc: Loc, otherwise: T, call: Callable[[], T]) -> T:
        """What a hook says; ``otherwise`` if it fails."""
        try:
            return call()
        except Exception as error:
            place = ".".join(map(str, loc)) or "the root"
            what = f"raised by the hook {hook} of {definition.name}, asked about {place}"
            if self.strict_hooks:
                error.add_note(what)
                raise
            message = f"{type(error).__name__} {what}"
            self.doubts.append(ValidationProblem(loc, message, "failed_hook"))
            return otherwise

    def rules(self, definition: Definition, hook: str, loc: Loc, *arguments: Any) -> list[ValidationProblem] | None:
        """What a hook that yields problems finds, located below ``loc``; None if it fails."""
        function = getattr(definition, hook)
        if function is None:
            return []
        return self.ask(definition, hook, loc, None, lambda: _problems(function(*arguments), loc))

    # -- fields --------------------------------------------------------------------------------

    def field(self, value: Any, role: str, loc: Loc) -> Field:
        """Read a field of a document, of which nothing is known yet."""
        bad: list[ValidationProblem] = []
        refined = json_value(value, loc, bad)
        if bad:
            self.problems += bad
            return self._no_json(value, role, loc)
        return self.json_field(refined, role, loc)

    def _no_json(self, value: Any, role: str, loc: Loc) -> Field:
        # The name alone may still be sound, and say what kind of codec stands here.
        name = value.get("name") if is_object(value) else None
        if not isinstance(name, str):
            return Field(role, "refused", None, None)
        name_problem(str.__str__(name), (*loc, "name"), self.problems)
        claimant = self.context.find(role, name) if well_named(name) else None
        return Field(role, "refused", name, None, claimant)

    def json_field(self, value: Any, role: str, loc: Loc) -> Field:
        """Read a field that is in the form of ``jsonvalues``."""
        envelope_problems(value, loc, self.problems)
        name, given, malformed = split(value)
        if name is None or not well_named(name):
            return Field(role, "refused", name, value)
        definition = self.context.find(role, name)
        if definition is None:
            return Field(role, "refused" if malformed else "unclaimed", name, value)
        if malformed:
            return Field(role, "refused", name, value, definition)
        if definition.name == RAW_BITS:
            return self._raw_bits(value, name, definition, given or {}, loc)
        if given is None:
            if definition.needs_configuration:
                self.report((*loc, "configuration"), f"expected a configuration of {name}, found none", "missing_key")
                return Field(role, "refused", name, value, definition)
            given = {}
        return self._configured(value, name, definition, given, (*loc, "configuration"))

    def _configured(self, value: Any, name: str, definition: Definition, given: dict[str, Any], at: Loc) -> Field:
        """Judge a configuration: types first, then the fields inside it, then the definition's own rules."""
        found = Findings()
        check_members(given, definition.configuration, at, found)
        own = found.problems
        accepted = not own or found.usable
        nested = NOTHING
        outer = self.problems
        if found.nested:
            # Problems of fields inside come after the holder's own, though the fields are read before it is judged.
            self.problems = []
            depth = len(at)
            nested = MappingProxyType({inner.loc[depth:]: self._inner(inner) for inner in found.nested})
            inside, self.problems = self.problems, outer
            accepted = accepted and all(_named(inner) for inner in found.nested)
        else:
            inside = []
        configuration = NOTHING
        if accepted:
            declared = definition.configuration
            configuration = MappingProxyType({key: item for key, item in given.items() if key in declared})
            if definition.rules is not None:
                broken = self.rules(definition, "rules", at, configuration, nested)
                own += broken or ()
                accepted = broken is not None and all(problem.kind == "unknown_key" for problem in broken)
        outer += own
        outer += inside
        if not accepted:
            return Field(definition.role, "refused", name, value, definition, NOTHING, nested)
        return Field(definition.role, "accepted", name, value, definition, configuration, nested)

    def _inner(self, inner: NestedField) -> Field:
        field = self.json_field(inner.value, inner.role, inner.loc)
        if inner.static and isinstance(field.definition, CodecDefinition):
            if field.definition.size != "static":
                message = f"expected a codec of static size, got {field.name}, whose size depends on the data"
                self.report(inner.loc, message, "invalid_value")
            if not field.definition.lossless:
                message = f"{field.name} may change the values that it stores, and these must come back as they were"
                self.doubts.append(ValidationProblem(inner.loc, message, "lossy_index"))
        return field

    def _raw_bits(self, value: Any, name: str, definition: Definition, given: dict[str, Any], loc: Loc) -> Field:
        """Read a name that carries its own configuration, beside which none may be written."""
        for key in given:
            self.report((*loc, "configuration", key), f"expected no member besides the name {name}", "unknown_key")
        configuration = MappingProxyType(raw_bits(name))
        broken = self.rules(definition, "rules", loc, configuration, NOTHING)
        # What is wrong with the size is wrong with the name, for that is where it is written.
        self.problems += [ValidationProblem(loc, problem.message, problem.kind) for problem in broken or ()]
        if broken is None or broken:
            return Field(definition.role, "refused", name, value, definition)
        return Field(definition.role, "accepted", name, value, definition, configuration)


def _named(inner: NestedField) -> bool:
    name, _, malformed = split(inner.value)
    return name is not None and not malformed


def _problems(found: Iterable[Any], loc: Loc) -> list[ValidationProblem]:
    problems = list(found)
    for problem in problems:
        if not isinstance(problem, ValidationProblem):
            raise TypeError(f"rules must yield ValidationProblem, found {problem!r}")
    return [problem.below(loc) for problem in problems]
