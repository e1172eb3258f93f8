"""Proofs in words: why an expression is convex, as a tree, or the point where the proof stops."""

from __future__ import annotations

from dataclasses import dataclass

from .expression import Constant, Expression
from .facts import Curvature, Geometry, Mean, Rule, Step, suits

_LONGEST = 72  # letters of an expression
_WIDEST = 4  # arguments of one kind to show in long sums


@dataclass(frozen=True)
class Gap:
    """The point where a proof stops.

    Attributes
    ----------
    expression : Expression
        The smallest part that lacks a needed fact.
    wanted : str
        The missing fact.
    hint : str
        What its rules require.
    """

    expression: Expression
    wanted: str
    hint: str

    def __str__(self) -> str:
        return f"`{brief(self.expression)}` is not known to be {self.wanted}. {self.hint}"


def brief(expression: Expression) -> str:
    """Format an expression, shortened if it is long."""
    text = str(expression)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]} …"


def tree(expression: Expression, geometry: Geometry) -> str:
    """Return the proof for an expression, one line per node; repeated parts are shown once."""
    expression.facts(geometry)
    lines: list[str] = []
    shown: set[tuple[int, Mean]] = set()
    stack: list[tuple[Expression, Mean, str, str]] = [(expression, "plain", "", "")]
    while stack:  # not by recursion: formulas may be deep
        node, mean, first, rest = stack.pop()
        step = node.facts(geometry).step(mean)
        again = bool(node.args) and (id(node), mean) in shown
        lines.append(f"{first}{brief(node)}: {'as above' if again else _conclusion(step, mean)}")
        if not again:
            shown.add((id(node), mean))
            stack.extend(reversed(_branches(node, geometry, step.needs, rest)))
    return "\n".join(lines)


def _conclusion(step: Step, mean: Mean) -> str:
    """Return the conclusion of a step, its rule and its source."""
    words = [_words(step.curvature, mean), *([step.reason] if step.reason else [])]
    return ", ".join(words) + (f" [{step.source}]" if step.source else "")


def _branches(
    node: Expression, geometry: Geometry, mean: Mean, rest: str
) -> list[tuple[Expression, Mean, str, str]]:
    """Return the nonconstant arguments of a node, with the prefixes of their lines.

    Only the first few terms of a long sum are shown.
    """
    moving = [arg for arg in node.args if not arg.facts(geometry).is_constant]
    kept = moving if len(moving) <= _WIDEST + 1 else moving[:_WIDEST]
    found = [(arg, mean, f"{rest}├─ ", f"{rest}│  ") for arg in kept]
    if len(kept) < len(moving):
        more = Constant(0.0, name=f"… and {len(moving) - len(kept)} more of them")
        return [*found, (more, mean, f"{rest}└─ ", "")]
    return [*found[:-1], *((arg, mean, f"{rest}└─ ", f"{rest}   ") for arg in kept[-1:])]


def _words(curvature: Curvature, mean: Mean) -> str:
    if mean == "own" or curvature is Curvature.CONSTANT:
        return curvature.value
    return curvature.value if mean == "plain" else f"log-{curvature.value}"


def find_gap(expression: Expression, geometry: Geometry, *, affine: bool = False) -> Gap:
    """Return the smallest part of an expression at which its proof of convexity (or affinity) stops."""
    return _find_gap(expression, geometry, not (affine and expression.is_convex(geometry)), "plain")


def _find_gap(expression: Expression, geometry: Geometry, convex: bool, mean: Mean) -> Gap:
    """Return the gap in a proof of convexity (or concavity) with respect to a mean."""
    facts = expression.facts(geometry)
    atom, args = expression.atom, expression.argument_facts(geometry)
    wanted = ("" if mean == "plain" else "log-") + ("convex" if convex else "concave")
    rules = [] if atom is None else [rule for rule in atom.rules(*args) if rule.gives == mean]
    best: tuple[int, Gap] | None = None
    for rule in rules:
        bends = rule.curvature.is_convex if convex else rule.curvature.is_concave
        if not bends:
            continue
        for k, (arg, grows) in enumerate(zip(args, rule.monotone, strict=True)):
            if grows != 0 and not suits(arg, rule.takes, grows, convex=convex):
                inner = _find_gap(expression.args[k], geometry, convex == (grows == 1), rule.takes)
                size = len(str(inner.expression))
                if best is None or size < best[0]:
                    best = size, inner
    if best is not None:
        return best[1]
    hint = _hint(expression, rules, geometry, convex) if rules else _said(facts.step(mean), mean)
    return Gap(expression, wanted, hint or "No rule is known for it; a different form may have one.")


def _said(step: Step, mean: Mean) -> str:
    """Return the known facts about an expression without rules, as a sentence."""
    if step.curvature is Curvature.UNKNOWN or not step.reason:
        return step.reason and f"{step.reason[0].upper()}{step.reason[1:]}."
    return f"It is {_words(step.curvature, mean)} ({step.reason})."


def _hint(expression: Expression, rules: list[Rule], geometry: Geometry, convex: bool) -> str:
    """Return what the rules of an atom require of its arguments."""
    for rule in rules:
        if not (rule.curvature.is_convex if convex else rule.curvature.is_concave):
            other = "convex" if convex else "concave"
            return f"It is {rule.curvature.value} ({rule.reason}), not {other}."
        seen = expression.argument_facts(geometry)
        for arg, facts, grows in zip(expression.args, seen, rule.monotone, strict=True):
            if not suits(facts, rule.takes, grows, convex=convex):
                affine = _words(Curvature.AFFINE, rule.takes)
                return rule.remedy or f"It would be if `{brief(arg)}` were {affine} ({rule.reason})."
    return ""
