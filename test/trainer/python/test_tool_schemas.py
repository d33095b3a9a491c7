"""Compares the tool schemas of environment hosts with those of transformers, on methods and on generated docstrings."""

import random
from pathlib import Path
from typing import Any, Literal, Optional, Union

import pytest
from _reward_host.tool_schema import SchemaFault, schema_of
from transformers.utils import get_json_schema


class Tools:
    """Methods with every kind of type and docstring that the two must agree on."""

    def plain(self, a: int, b: str = "x") -> str:
        """
        Does something.

        Over two lines.

        Args:
            a: The first,
                on two lines.
            b:
                The second.

        Returns:
            What it did.
        """

    def nothing(self):
        """Takes nothing."""

    def types(
        self,
        a: list[int],
        b: dict[str, float],
        c: Optional[int],  # noqa: UP045
        d: Union[int, str],  # noqa: UP007
        e: Literal["x", 1, None],
        f: tuple[int, str],
        g: Any,
        h: list,
        i: int | list[str] | None,
        j: Path,
        k: Literal["a", "b"],
        m: float | int,
        n: tuple,
        o: dict,
        p: None,
        q: list | tuple,
    ) -> list[dict[str, int]]:
        """Uses types.

        Args:
            a: A.
            b: B.
            c: C.
            d: D.
            e: E.
            f: F.
            g: G.
            h: H.
            i: I.
            j: J.
            k: K.
            m: M.
            n: N.
            o: O.
            p: P.
            q: Q.

        Raises:
            ValueError: never
        """

    def choices(self, drink: str, size: int) -> None:
        """Chooses.

        Args:
            drink: What to drink (choices: [" tea ", "coffee"])
            size: How much (Choices: [1, 2])
        Returns:
            Nothing, note: not even this.
        """

    def odd(self, a: int, url: str) -> str:
        """Mentions Returns: in the middle.

        Args:
            a: With http: and more
            url: See https://example.com: it
            continues here
        """

    def late(self, a: int) -> int:
        """Args:
        a: The heading comes first.
        """

    async def waits(self, seconds: float = 1.0) -> bool:
        """Waits.

        Args:
            seconds: How long.
        """

    @classmethod
    def on_class(cls, a: int) -> int:
        """Is bound to the class.

        Args:
            a: A.
        """

    # Methods that neither can describe.
    def undocumented(self, a: int): ...

    def untyped(self, a):
        """No type.

        Args:
            a: A.
        """

    def partly(self, a: int, b: int):
        """One argument is not described.

        Args:
            a: A.
        """

    def unnamed(self, a: tuple[int, ...]):
        """A type without a schema.

        Args:
            a: A.
        """

    def single(self, a: tuple[int]):
        """A type without a schema.

        Args:
            a: A.
        """

    def unresolved(self, a: "NoSuchType"):  # noqa: F821
        """A type that does not exist.

        Args:
            a: A.
        """

    def kwargs(self, **kwargs):
        """Takes anything."""

    def bad_choices(self, a: str):
        """Choices that are not JSON.

        Args:
            a: A (choices: [x, y])
        """


def outcome(describe, tool):
    try:
        return describe(tool)
    except SchemaFault as fault:
        return fault.kind
    except Exception:  # transformers raises exceptions of many types
        return "fault"


NAMES = [name for name in vars(Tools) if not name.startswith("_")]
FAULTS = {
    "undocumented": "docstring",
    "untyped": "types",
    "partly": "docstring",
    "unnamed": "types",
    "single": "types",
    "unresolved": "types",
    "kwargs": "types",
    "bad_choices": "docstring",
    "late": "docstring",
}


@pytest.mark.parametrize("name", NAMES)
def test_equals_transformers(name):
    tool = getattr(Tools(), name)
    ours, theirs = outcome(schema_of, tool), outcome(get_json_schema, tool)
    assert (ours == FAULTS[name]) if name in FAULTS else isinstance(ours, dict)
    assert ("fault" if isinstance(ours, str) else ours) == theirs
    if isinstance(ours, dict):
        # The order of keys determines the text that a chat template writes.
        assert repr(ours) == repr(theirs)


def test_equals_transformers_on_generated_docstrings():
    """Docstrings with parts that can confuse a parser, in random order."""
    draw = random.Random(5)
    parts = [
        "Does it.",
        "Args:",
        "    Args:",
        "    a: First.",
        "    b: Second, note: more.",
        "    b:",
        "        continued here",
        "    a (int): odd.",
        "Returns:",
        "    The result.",
        "Raises:",
        "    ValueError: sometimes.",
        "",
        "   ",
        "    b: With choices (choices: [1, 2])",
        "a: at the margin",
    ]
    described = 0
    for _ in range(4000):

        def tool(a: int, b: str = "") -> int: ...

        tool.__doc__ = "\n".join(draw.choice(parts) for _ in range(draw.randint(1, 9)))
        ours, theirs = outcome(schema_of, tool), outcome(get_json_schema, tool)
        assert ("fault" if isinstance(ours, str) else ours) == theirs, tool.__doc__
        described += isinstance(ours, dict)
    assert described > 50
