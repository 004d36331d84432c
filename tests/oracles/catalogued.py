"""Every measure of the catalogue with every parameter turned, for claims that hold of all of them."""

from __future__ import annotations

from cranfield.measures import CATALOG, MeasureKind, parse_measure

# Settings away from the defaults; max is the highest grade that collections are generated with.
SETTINGS = {
    "rel": ("rel=2",),
    "norm": ("norm=min",),
    "gains": ("gains=exp", "gains=1:0.1,2:0.2,3:0.3,4:0.7"),
    "log": ("log=10",),
    "beta": ("beta=0.3",),
    "max": ("max=4",),
    "p": ("p=0.3", "p=0.97"),
    "alpha": ("alpha=0.3", "alpha=1"),
    "gamma": ("gamma=0.2",),
    "judged_only": ("judged_only=True",),
    "relative": ("relative=True",),
    "T": ("T=0.3", "T=3"),
    "min_rel": ("min_rel=1",),
    "max_rel": ("max_rel=4",),
    "normalize": ("normalize=False",),
    "of": ("of=vital", "of=weighted"),
    "partial": ("partial=0.5",),
    "to": ("to=run0",),  # a run that every generated collection has
    "form": ("form=min",),
    "recall": (),  # which stands after @
    "multiple": (),
}
CUTOFFS = (1, 3, 20)
SHARES = (0, 0.3, 1)


def names(kind: MeasureKind) -> list[str]:
    """The measure as it comes, cut, and with each of its parameters set."""
    ends = [f"@{k}" for k in (SHARES if kind.cutoff.parameter else CUTOFFS)] if kind.cutoff.allowed else []
    starts = [""] + [f"({setting})" for parameter in kind.parameters for setting in SETTINGS[parameter.name]]
    uncut = [] if kind.cutoff.required else [f"{kind.name}{start}" for start in starts]
    return uncut + [f"{kind.name}{start}{end}" for start in starts for end in ends]


EVERY = [name for kind in CATALOG.values() for name in names(kind)]


def stands_alone(name: str) -> bool:
    """False for measures by which a score depends on other runs or, through the highest grade, on other topics."""
    measure = parse_measure(name)
    values = dict(measure.values)
    if measure.kind.compares_runs:
        return False
    if "max_rel" in values:
        return values["max_rel"] is not None
    needs_it = "max" in values and values["gains"] in ("linear", "exp")
    return not needs_it or values["max"] is not None
