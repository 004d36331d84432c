"""The one base of everything a question returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Self

LONGEST_REPR = 900  # characters; a notebook shows the tables instead


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result:
    """The answer to a question: complete, immutable, and shown the same in every interface.

    Attributes
    ----------
    inputs
        Every parameter of the question and its value.
    warnings
        What the result should be read with.
    seed
        Random seed; None where nothing is random.
    """

    inputs: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[Any, ...] = ()
    seed: int | None = None

    def document(self) -> Any:
        """Tables, summary, warnings and citations, as all output formats render them."""
        return _view(self).document(self).warned(self.warnings).with_visible_names()

    def summary(self) -> str:
        """What may be claimed, in a sentence or two."""
        return str(self.document().sentence)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that ``--json`` prints."""
        return dict(rendering("output_formats").to_dict(self.document()))

    def to_frame(self, backend: str = "pandas") -> Any:
        """The rows as a data frame of pandas, Polars or PyArrow."""
        return rendering("output_formats").to_frame(self.document(), backend)

    def chart(self, kind: str | None = None) -> Any:
        """A chart, which notebooks show and ``save`` writes; ``kind`` chooses one where there are several."""
        return rendering("document").chart(self, kind)

    @property
    def exit_code(self) -> int:
        """What the command ends with: 1 where a demand was not met."""
        return 0

    def with_inputs(self, **named: Any) -> Self:
        """The same result under other names for its inputs."""
        return replace(self, inputs={**self.inputs, **named})

    def __repr__(self) -> str:
        text = self.summary()
        shown = text if len(text) <= LONGEST_REPR else f"{text[:LONGEST_REPR]}…"
        return f"<{type(self).__name__}: {shown}>"

    def _repr_html_(self) -> str:
        return str(rendering("output_formats").to_html(self.document()))


def rendering(module: str) -> Any:
    """A module of the layer that renders results, which is built on this one: named here, and never imported."""
    return import_module(f"cranfield.rendering.{module}")


def _view(result: Result) -> Any:
    return rendering("document").view(type(result))
