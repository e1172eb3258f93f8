"""The small errors: all mutants of a source text.

A mutant replaces one piece of the text. Types are kept where possible, because an error that ends in a
`TypeError` is found by any test. Docstrings, annotations, default values, decorators and messages are left
alone.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

_COMPARISONS = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
_ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_UNARY = {ast.Not: "not", ast.USub: "-", ast.Invert: "~"}
_NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "argmin": "argmax",
    "argmax": "argmin",
    "floor": "ceil",
    "ceil": "floor",
    "mean": "sum",
    "first": "last",
    "last": "first",
}


@dataclass(frozen=True)
class Mutant:
    """One small error: ``text[start:end]`` becomes ``new``.

    ``lines`` are the first and the last line of the statement, to look up the tests that run it. ``function``
    is the outermost function around it, such as ``Class.method``; it is empty for what runs on import.
    """

    path: str
    function: str
    kind: str
    line: int
    lines: tuple[int, int]
    start: int
    end: int
    old: str
    new: str

    def apply(self, text: bytes) -> bytes:
        """Return the text with the error in it."""
        return text[: self.start] + self.new.encode() + text[self.end :]


def mutants_of(path: str, text: bytes) -> list[Mutant]:
    """Return all mutants of a source text, in the order of the text."""
    return sorted(_Finder(path, text).mutants, key=lambda m: (m.start, m.end, m.new))


class _Finder(ast.NodeVisitor):
    """Collects the mutants of one text."""

    def __init__(self, path: str, text: bytes) -> None:
        self.path, self.text, self.mutants = path, text, list[Mutant]()
        self._line_starts = [0, *(m.end() for m in re.finditer(rb"\n", text))]
        self._lines, self._names, self._function = (1, 1), list[str](), ""
        self.visit(ast.parse(text))

    def _start(self, node: ast.AST) -> int:
        return self._line_starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.AST) -> int:
        return self._line_starts[node.end_lineno - 1] + node.end_col_offset

    def _add(self, kind: str, start: int, end: int, new: str) -> None:
        old = self.text[start:end].decode()
        line = self.text.count(b"\n", 0, start) + 1
        self.mutants.append(Mutant(self.path, self._function, kind, line, self._lines, start, end, old, new))

    def _replace(self, kind: str, node: ast.AST, new: str) -> None:
        self._add(kind, self._start(node), self._end(node), new)

    def _between(self, kind: str, left: ast.AST, right: ast.AST, old: str, new: str) -> None:
        """Replace the sign between two nodes."""
        start, end = self._end(left), self._start(right)
        words = r"\s+".join(map(re.escape, old.split()))
        sign = re.search(words.encode(), self.text[start:end])
        if sign:
            self._add(kind, start + sign.start(), start + sign.end(), new)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
            return
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) else node.end_lineno
            self._lines = (node.lineno, max(last, node.lineno))
        super().visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outermost = not self._function
        self._function = self._function or ".".join([*self._names, node.name])
        for statement in node.body:
            self.visit(statement)
        if outermost:
            self._function = ""

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._names.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace("drop a statement", node, "pass")

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._replace("drop a statement", node, "pass")
            if "warn" not in ast.unparse(node.value.func):
                self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace("drop a statement", node, "pass")
        old, new = _ARITHMETIC.get(type(node.op), (None, ""))
        if old:
            self._between("arithmetic", node.target, node.value, old, new)
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.targets[0], ast.Subscript):
            self._replace("drop a statement", node, "pass")
        if not _is_type(node):
            self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not _is_none(node.value):
            self._replace("return None", node.value, "None")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace("drop a statement", node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self._replace("drop a statement", node, "pass")

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def _negate(self, test: ast.expr) -> None:
        """Negate a condition; a single comparison is negated by its own sign."""
        if not isinstance(test, ast.Compare | ast.UnaryOp):
            self._replace("negate", test, f"not ({self.text[self._start(test) : self._end(test)].decode()})")

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            old, news = _COMPARISONS[type(operator)]
            for new in news:
                self._between("comparison", left, right, old, new)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        old, new = _ARITHMETIC.get(type(node.op), (None, ""))
        if old and not _is_text(node):
            self._between("arithmetic", node.left, node.right, old, new)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between("and, or", left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if type(node.op) in _UNARY:
            self._add("sign", self._start(node), self._start(node.operand), "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace("constant", node, str(not node.value))
        elif isinstance(node.value, int | float):
            self._replace("constant", node, repr(node.value + 1))
            self._replace("constant", node, f"({node.value - 1!r})")

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound is not None:
                self._replace("slice", bound, "")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _NAMES:
            end = self._end(node.func)
            self._add("name", end - len(name), end, _NAMES[name])
        self.generic_visit(node)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_text(node: ast.BinOp) -> bool:
    """Whether strings are joined or formatted."""
    sides = (node.left, node.right)
    return any(isinstance(x, ast.JoinedStr) or isinstance(getattr(x, "value", 0), str) for x in sides)


def _is_type(node: ast.Assign) -> bool:
    """Whether the statement names a type: ``Array = NDArray[np.float64]``."""
    value = node.value
    while isinstance(value, ast.BinOp):
        value = value.left
    name = ast.unparse(value.value) if isinstance(value, ast.Subscript) else ""
    return name in {"NDArray", "np.ndarray", "Callable", "Literal", "dict", "tuple", "list", "Sequence"} or (
        isinstance(value, ast.Call) and ast.unparse(value.func) == "TypeVar"
    )
