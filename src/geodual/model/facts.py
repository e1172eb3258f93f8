"""Facts proved about an expression: its sign, and its curvature along geodesics.

One set of rules serves both kinds of convexity. Curvature is with respect to a *mean* of values:

- plain: f(γ(t)) ≤ (1 − t) f(γ(0)) + t f(γ(1)), the usual convexity;
- log: f(γ(t)) ≤ f(γ(0)) #ₜ f(γ(1)), with the geometric mean #ₜ of positive numbers or positive definite
  matrices instead of the arithmetic one.

Matrices are compared in the Löwner order, other arrays entry by entry. Along geodesics of positive definite
matrices, X itself is affine in the log sense; along straight lines, it is affine in the plain sense.
Everything else follows from the effect of atoms on each mean, and from A #ₜ B ≼ (1 − t) A + t B. A third
mean, "own", is the point γ(t) itself: functions of a variable, such as its distance from a point, need only
this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from geodual.arrays import Array

Mean = Literal["plain", "log", "own"]
Geometry = Literal["geodesic", "euclidean"]


class Curvature(Enum):
    """The curvature of a function with respect to a mean of its values.

    See Also
    --------
    Sign : The sign of an expression.
    Facts : All facts about an expression.

    Examples
    --------
    >>> from geodual.model import Curvature
    >>> Curvature.AFFINE.is_convex, Curvature.of(convex=True, concave=False).value
    (True, 'convex')
    """

    CONSTANT = "constant"
    AFFINE = "affine"
    CONVEX = "convex"
    CONCAVE = "concave"
    UNKNOWN = "unknown"

    @property
    def is_affine(self) -> bool:
        """Whether the function is affine or constant."""
        return self in (Curvature.CONSTANT, Curvature.AFFINE)

    @property
    def is_convex(self) -> bool:
        """Whether the function is convex, as affine functions are."""
        return self.is_affine or self is Curvature.CONVEX

    @property
    def is_concave(self) -> bool:
        """Whether the function is concave, as affine functions are."""
        return self.is_affine or self is Curvature.CONCAVE

    @staticmethod
    def of(convex: bool, concave: bool) -> Curvature:
        """Return the curvature of a function known to be convex, concave, both or neither."""
        if convex and concave:
            return Curvature.AFFINE
        return Curvature.CONVEX if convex else Curvature.CONCAVE if concave else Curvature.UNKNOWN


class Sign(Enum):
    """The sign of all entries or, for symmetric matrices, of all eigenvalues.

    See Also
    --------
    Curvature : The curvature of an expression.
    Facts : All facts about an expression.

    Examples
    --------
    >>> from geodual.model import Sign
    >>> Sign.POSITIVE.times(Sign.NEGATIVE).value, Sign.POSITIVE.plus(Sign.NEGATIVE).value
    ('negative', 'of unknown sign')
    """

    POSITIVE = "positive"
    NONNEGATIVE = "nonnegative"
    NONPOSITIVE = "nonpositive"
    NEGATIVE = "negative"
    UNKNOWN = "of unknown sign"

    @property
    def is_nonnegative(self) -> bool:
        """Whether no entry is negative."""
        return self in _UP

    @property
    def is_nonpositive(self) -> bool:
        """Whether no entry is positive."""
        return self in _DOWN

    @property
    def negated(self) -> Sign:
        """The sign of the negative."""
        return _NEGATED[self]

    @property
    def monotone(self) -> int:
        """The monotonicity of a product with a constant of this sign in the other factor."""
        return 1 if self.is_nonnegative else -1 if self.is_nonpositive else 0

    def plus(self, other: Sign) -> Sign:
        """Return the sign of a sum."""
        for signs in (_UP, _DOWN):
            if self in signs and other in signs:
                return signs[0] if signs[0] in (self, other) else signs[1]
        return Sign.UNKNOWN

    def times(self, other: Sign) -> Sign:
        """Return the sign of a product."""
        if Sign.UNKNOWN in (self, other):
            return Sign.UNKNOWN
        strict = self in _STRICT and other in _STRICT
        if self.is_nonnegative == other.is_nonnegative:
            return Sign.POSITIVE if strict else Sign.NONNEGATIVE
        return Sign.NEGATIVE if strict else Sign.NONPOSITIVE


_UP = (Sign.POSITIVE, Sign.NONNEGATIVE)
_DOWN = (Sign.NEGATIVE, Sign.NONPOSITIVE)
_STRICT = (Sign.POSITIVE, Sign.NEGATIVE)
_NEGATED = {
    Sign.POSITIVE: Sign.NEGATIVE,
    Sign.NEGATIVE: Sign.POSITIVE,
    Sign.NONNEGATIVE: Sign.NONPOSITIVE,
    Sign.NONPOSITIVE: Sign.NONNEGATIVE,
    Sign.UNKNOWN: Sign.UNKNOWN,
}


@dataclass(frozen=True)
class Rule:
    """A claim about the effect of an atom on means, with its source.

    Attributes
    ----------
    takes, gives : {"plain", "log", "own"}
        The mean of the arguments, and that of the value.
    curvature : Curvature
        The curvature of the atom with respect to these means.
    monotone : tuple of {-1, 0, 1}
        Whether the atom is decreasing (−1) or increasing (1) in each argument; 0 if unknown.
    reason : str
        The claim in words.
    source : str
        Source of the proof.
    remedy : str
        What would make the atom monotone, if it is not.

    See Also
    --------
    Atom : Its `rules` return them.
    Curvature : The curvatures.

    Examples
    --------
    >>> from geodual.model import Curvature, Rule
    >>> rule = Rule("plain", "plain", Curvature.CONVEX, (1,), "exp is convex, and grows")
    >>> rule.takes, rule.curvature.is_convex
    ('plain', True)
    """

    takes: Mean
    gives: Mean
    curvature: Curvature
    monotone: tuple[int, ...]
    reason: str
    source: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class Step:
    """A step of a proof: a curvature, and its justification.

    Attributes
    ----------
    curvature : Curvature
        The proved curvature.
    reason, source : str
        The rule in words, and its source.
    needs : {"plain", "log", "own"}
        The mean used for the arguments.
    """

    curvature: Curvature = Curvature.UNKNOWN
    reason: str = ""
    source: str = ""
    needs: Mean = "plain"


@dataclass(frozen=True)
class Facts:
    """The facts known about an expression along the geodesics of one geometry.

    Attributes
    ----------
    sign : Sign
        Sign of the eigenvalues of a symmetric matrix, or of the entries of another array.
    entries : Sign
        Sign of the entries.
    is_matrix : bool
        Whether the expression is a symmetric matrix, compared in the Löwner order.
    plain, log : Step
        Curvature of the expression with respect to each mean. The log mean is for nonnegative values.
    rate : float or None
        Along every geodesic of unit speed, the expression is Σ wᵢ exp(rᵢ t) with wᵢ ≥ 0 and −rate ≤ rᵢ ≤
        rate.
    third : float or None
        Along every geodesic of unit speed, φ‴ is between −third · φ″ and third · φ″.
    modulus : dict
        A number m per variable, with φ″ ≥ Σ m ‖velocity of the variable‖².
    isometry : Variable or None
        A variable of which the expression is an isometric affine image.
    numbers : array or None
        The value of a constant; None for parameters, which may change.
    own : Step
        The step for the mean "own": affine for variables and constants.

    See Also
    --------
    Expression : Has facts.
    Rule : The rules from which facts follow.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> facts = gm.trace(gm.Variable(SPD(2))).facts()
    >>> facts.sign.value, facts.log.curvature.value
    ('positive', 'convex')
    """

    sign: Sign
    entries: Sign
    plain: Step = field(default_factory=Step)
    log: Step = field(default_factory=Step)
    rate: float | None = None
    third: float | None = None
    modulus: dict[object, float] = field(default_factory=dict)
    isometry: object = None
    numbers: Array | None = None
    own: Step = field(default_factory=Step)
    is_matrix: bool = False

    def step(self, mean: Mean) -> Step:
        """Return the step for the curvature with respect to a mean."""
        return {"plain": self.plain, "log": self.log, "own": self.own}[mean]

    @property
    def is_constant(self) -> bool:
        """Whether the expression has no variables."""
        return self.plain.curvature is Curvature.CONSTANT

    @property
    def by_entries(self) -> Facts:
        """The facts about single entries, which may differ from those of a symmetric matrix as a whole."""
        if not self.is_matrix:
            return self
        affine, fixed = self.plain.curvature.is_affine, self.is_constant and self.entries.is_nonnegative
        return Facts(
            self.entries,
            self.entries,
            self.plain if affine else Step(),
            self.plain if fixed else Step(),
            rate=0.0 if fixed else None,
            third=0.0 if affine else None,
            isometry=self.isometry,
            numbers=self.numbers,
            own=self.own,
        )


def apply_rules(rules: Sequence[Rule], args: Sequence[Facts], gives: Mean) -> Step:
    """Apply the rules of an atom: return what they prove about its value, with respect to one mean."""
    best = Step()
    for rule in rules:
        if rule.gives != gives:
            continue
        convex = rule.curvature.is_convex and _suits(rule, args, convex=True)
        concave = rule.curvature.is_concave and _suits(rule, args, convex=False)
        curvature = Curvature.of(convex, concave)
        if curvature.is_affine or best.curvature is Curvature.UNKNOWN:
            best = (
                best
                if curvature is Curvature.UNKNOWN
                else Step(curvature, rule.reason, rule.source, rule.takes)
            )
        if best.curvature.is_affine:
            break
    return best


def _suits(rule: Rule, args: Sequence[Facts], *, convex: bool) -> bool:
    """Return whether the curvatures of the arguments make the value convex, or concave."""
    return all(
        suits(arg, rule.takes, grows, convex=convex) for arg, grows in zip(args, rule.monotone, strict=True)
    )


def suits(arg: Facts, mean: Mean, grows: int, *, convex: bool) -> bool:
    """Return whether an argument preserves convexity (or concavity) of a function monotone in it."""
    curvature = arg.step(mean).curvature
    if arg.is_constant or curvature.is_affine:
        return True
    if grows == 0:
        return False
    return curvature is (Curvature.CONVEX if (grows == 1) == convex else Curvature.CONCAVE)


def between_means(plain: Step, log: Step, sign: Sign) -> tuple[Step, Step]:
    """Add what follows from the inequality between the geometric and the arithmetic mean."""
    if log.curvature.is_convex and not plain.curvature.is_convex:
        both = plain.curvature is Curvature.CONCAVE
        plain = _weaker(log, Curvature.of(True, both), "so it is convex")
    elif plain.curvature.is_concave and sign.is_nonnegative and not log.curvature.is_concave:
        both = log.curvature is Curvature.CONVEX
        log = _weaker(plain, Curvature.of(both, True), "so it is log-concave")
    return plain, log


def _weaker(step: Step, curvature: Curvature, conclusion: str) -> Step:
    """Return the step that follows from that of the other mean, by A #ₜ B ≼ (1 − t) A + t B."""
    return Step(curvature, f"{step.reason}; {conclusion}", step.source, step.needs)
