"""ANOVA of balanced topic × system (× replicate) tables: MD1 to MD6 of Ferro and Sanderson (2019), and nested ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.contrasts.assumptions import check_table
from cranfield.stats.tails import TINY
from cranfield.types import Array

# The effects of each model; all other effects are its error.  FS19 §3
MODELS: dict[str, tuple[str, ...]] = {
    "MD1": ("topic", "system"),
    "MD2": ("topic", "system"),
    "MD3": ("topic", "system", "topic*system"),
    "MD4": ("topic", "system", "shard", "topic*system"),
    "MD5": ("topic", "system", "shard", "topic*system", "system*shard"),
    "MD6": ("topic", "system", "shard", "topic*system", "system*shard", "topic*shard"),
}
EFFECTS = MODELS["MD6"]


@dataclass(frozen=True)
class Effect:
    """One row of an ANOVA table; ``error`` and ``total`` have no F."""

    name: str
    ss: float
    df: float
    ms: float
    f: float = float("nan")
    p_value: float = float("nan")
    omega_squared: float = float("nan")

    @property
    def size(self) -> str:
        """The size of ω² in words, Ferro and Sanderson (2019), §6: large from .14, medium from .06, small from .01."""
        if self.omega_squared != self.omega_squared:
            return ""
        return next(
            (
                word
                for least, word in ((0.14, "large"), (0.06, "medium"), (0.01, "small"))
                if self.omega_squared >= least
            ),
            "none",
        )


@dataclass(frozen=True)
class AnovaTable:
    """Sums of squares, F, p and ω² of every effect of one model."""

    model: str
    effects: tuple[Effect, ...]
    error: Effect
    total: Effect
    topics: int
    systems: int
    shards: int

    def __getitem__(self, name: str) -> Effect:
        return next(effect for effect in self.effects if effect.name == name)

    def to_dict(self) -> list[dict[str, Any]]:
        return [
            {
                "model": self.model,
                "effect": effect.name,
                "ss": effect.ss,
                "df": effect.df,
                "ms": effect.ms,
                "f": effect.f,
                "p_value": effect.p_value,
                "omega_squared": effect.omega_squared,
                "size": effect.size,
            }
            for effect in (*self.effects, self.error, self.total)
        ]


@dataclass(frozen=True, eq=False)
class Decomposition:
    """All sums of squares of a table, from which every model is computed."""

    shape: tuple[int, int, int]
    ss: dict[str, float]
    df: dict[str, int]
    residual_ss: float
    residual_df: int
    system_means: Array

    @property
    def total_ss(self) -> float:
        return sum(self.ss.values()) + self.residual_ss


def decompose(scores: Array) -> Decomposition:
    """Compute all effects of a complete table, topics × systems × shards; a table of two dimensions has one shard.

    The effects are orthogonal, so each is a sum of squares of marginal means, and the error of a model is the residual
    plus the effects it leaves out; nothing is computed by subtraction.
    """
    y = scores[:, :, np.newaxis] if scores.ndim == 2 else scores
    check_table(y)
    t, r, s = y.shape
    y = np.subtract(y, y.mean(), order="C")
    cell_ts, cell_sk, cell_tk = y.mean(axis=2), y.mean(axis=0), y.mean(axis=1)
    topic, system, shard = cell_ts.mean(axis=1), cell_ts.mean(axis=0), cell_tk.mean(axis=0)
    by_ts = cell_ts - topic[:, None] - system[None, :]
    by_sk = cell_sk - system[:, None] - shard[None, :]
    by_tk = cell_tk - topic[:, None] - shard[None, :]
    rest = y  # from here on, in place
    rest -= cell_ts[:, :, None]
    rest -= by_sk[None, :, :] + shard[None, None, :]
    rest -= by_tk[:, None, :]
    ss = {
        "topic": r * s * _square(topic),
        "system": t * s * _square(system),
        "shard": t * r * _square(shard),
        "topic*system": s * _square(by_ts),
        "system*shard": t * _square(by_sk),
        "topic*shard": r * _square(by_tk),
    }
    df = {
        "topic": t - 1,
        "system": r - 1,
        "shard": s - 1,
        "topic*system": (t - 1) * (r - 1),
        "system*shard": (r - 1) * (s - 1),
        "topic*shard": (t - 1) * (s - 1),
    }
    means = (scores if scores.ndim == 2 else scores.mean(axis=2)).mean(axis=0)
    return Decomposition((t, r, s), ss, df, _square(rest), (t - 1) * (r - 1) * (s - 1), means)


def _square(values: Array) -> float:
    flat = values.ravel()
    return float(np.einsum("i,i", flat, flat))  # not vdot, whose threads cost more than they save


def anova(found: Decomposition, model: str) -> AnovaTable:
    """Return the ANOVA table of one model."""
    if model not in MODELS:
        raise RequestError(f"there is no model «{model}»", fix=f"Choose one of: {', '.join(MODELS)}.")
    t, r, s = found.shape
    if (model == "MD1") != (s == 1):
        what = (
            "MD1 is for whole topics, and this table has shards" if s > 1 else f"{model} needs shards, and there is one"
        )
        raise RequestError(what, fix="MD1 is for tables without shards, MD2 to MD6 for tables with them.")
    inside = MODELS[model]
    outside = [name for name in EFFECTS if name not in inside]
    error_ss = found.residual_ss + sum(found.ss[name] for name in outside)
    error_df = found.residual_df + sum(found.df[name] for name in outside)
    error = Effect("error", error_ss, error_df, error_ss / error_df if error_df else float("nan"))
    size = t * r * s
    effects = tuple(_effect(name, found.ss[name], found.df[name], error, size) for name in inside)
    total = Effect("total", found.total_ss, size - 1, found.total_ss / (size - 1))
    return AnovaTable(model, effects, error, total, t, r, s)


def _effect(name: str, ss: float, df: int, error: Effect, size: int) -> Effect:
    ms = ss / df
    if not error.ms > 0:
        return Effect(name, ss, df, ms)
    f = ms / error.ms
    omega = df * (f - 1) / (df * (f - 1) + size)  # FS19 Eq. 6
    p_value = max(float(special.fdtrc(df, error.df, f)), TINY)
    return Effect(name, ss, df, ms, f, p_value, omega)


def random_topics(found: Decomposition) -> Effect:
    """Test systems against topic*system, which is correct if topics are a random sample."""
    t, r, s = found.shape
    return _effect("system", found.ss["system"], found.df["system"], _pooled(found, ["topic*system"]), t * r * s)


NESTED = "nested"
WITHIN_SYSTEMS = ("shard", "system*shard")  # replicates within a system
SYSTEM_ERROR = "error of systems"


def sampled_replicates(found: Decomposition, *, nested: bool) -> Effect:
    """Return the error term of systems if both topics and replicates are random samples.

    Under the null hypothesis the expected mean square of systems is the sum of the variances of topic*system, of
    replicates and of the residual, which MS(topic*system) + MS(replicate) − MS(error) estimates; Satterthwaite's
    approximation gives its degrees of freedom. If the difference of the last two is not positive, the variance of
    replicates is estimated as 0, and MS(topic*system) with its own degrees of freedom is used, which is the larger of
    the two error terms.

    Parameters
    ----------
    nested
        Each system has its own replicates (random seeds): their variation is pooled within systems. Otherwise systems
        share them (judges, prompts): the mean of a replicate cancels in a difference, and its interaction with systems
        remains.

    References
    ----------
    Satterthwaite (1946), An approximate distribution of estimates of variance components. Clark (1973), The
    language-as-fixed-effect fallacy (the quasi-F ratio).
    """
    by_topic = _pooled(found, ["topic*system"])
    replicate = _pooled(found, WITHIN_SYSTEMS if nested else ["system*shard"])
    rest = _pooled(found, ["topic*shard"] if nested else [], residual=True)
    ms = by_topic.ms + replicate.ms - rest.ms
    if not replicate.ms > rest.ms:
        return Effect(SYSTEM_ERROR, float("nan"), by_topic.df, by_topic.ms)
    parts = sum(each.ms**2 / each.df for each in (by_topic, replicate, rest) if each.df)
    return Effect(SYSTEM_ERROR, float("nan"), ms**2 / parts, ms)  # Satterthwaite 1946


def nested_anova(found: Decomposition) -> AnovaTable:
    """Return the ANOVA table for nested replicates on shared topics; topics and replicates are random samples."""
    t, r, s = found.shape
    by_topic, within = _pooled(found, ["topic*system"]), _pooled(found, WITHIN_SYSTEMS, "shard(system)")
    error = _pooled(found, ["topic*shard"], residual=True)
    systems = sampled_replicates(found, nested=True)
    tested = (
        (_pooled(found, ["topic"]), by_topic),
        (_pooled(found, ["system"]), systems),
        (by_topic, error),
        (within, error),
    )
    effects = tuple(_quotient(effect, against) for effect, against in tested)
    size = t * r * s
    total = Effect("total", found.total_ss, size - 1, found.total_ss / (size - 1))
    return AnovaTable(NESTED, (*effects, systems), error, total, t, r, s)


def _pooled(found: Decomposition, names: Sequence[str], name: str = "", *, residual: bool = False) -> Effect:
    """Return the mean square of several effects together, with or without the residual."""
    ss = sum(found.ss[each] for each in names) + (found.residual_ss if residual else 0.0)
    df = sum(found.df[each] for each in names) + (found.residual_df if residual else 0)
    return Effect("error" if residual else name or names[0], ss, df, ss / df if df else float("nan"))


def _quotient(effect: Effect, error: Effect) -> Effect:
    """Return an effect with its F and error term; ω², which assumes one error term for all effects, is left out."""
    if not error.ms > 0:
        return effect
    f = effect.ms / error.ms
    return replace(effect, f=f, p_value=max(float(special.fdtrc(effect.df, error.df, f)), TINY))
