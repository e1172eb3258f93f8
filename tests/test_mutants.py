"""The mutants: what is changed, what is left alone, and that a changed function behaves differently."""

from pathlib import Path

from mutants.fork import live_functions, put_in
from mutants.operators import mutants_of

SOURCE = b'''"""Text with 1 + 1."""

LIMIT: int = 3


class Box:
    """A box."""

    def inside(self, x: float = 1.0) -> bool:
        """Whether x < 2."""
        if x < 0.0:
            raise ValueError(f"must be {1 + 1}, got " + str(x))
        return x <= 2.0 and not x == 1.5
'''


def changes(line: int) -> set[tuple[str, str]]:
    return {(m.old, m.new) for m in mutants_of("box.py", SOURCE) if m.line == line}


def test_what_is_changed() -> None:
    assert changes(3) == {("3", "4"), ("3", "(2)")}
    assert changes(11) == {("<", "<="), ("<", ">="), ("0.0", "1.0"), ("0.0", "(-1.0)")}
    assert changes(12) == {('raise ValueError(f"must be {1 + 1}, got " + str(x))', "pass")}
    assert {("<=", "<"), ("<=", ">"), ("and", "or"), ("not ", ""), ("==", "!=")} <= changes(13)
    assert ("x <= 2.0 and not x == 1.5", "None") in changes(13)


def test_texts_annotations_and_defaults_are_left_alone() -> None:
    assert {m.line for m in mutants_of("box.py", SOURCE)} == {3, 11, 12, 13}


def test_a_mutant_knows_its_function() -> None:
    assert {(m.line, m.function) for m in mutants_of("box.py", SOURCE)} == {
        (3, ""),
        (11, "Box.inside"),
        (12, "Box.inside"),
        (13, "Box.inside"),
    }


def test_a_function_in_use_gets_the_error(tmp_path: Path) -> None:
    path = tmp_path / "src" / "box.py"
    path.parent.mkdir()
    path.write_bytes(SOURCE)
    names: dict[str, type] = {}
    exec(compile(SOURCE, str(path), "exec"), names)
    box = names["Box"]()
    (strict,) = (m for m in mutants_of("src/box.py", SOURCE) if (m.old, m.new) == ("<=", "<"))
    assert box.inside(2.0)
    put_in(strict, tmp_path, live_functions(tmp_path))
    assert not box.inside(2.0)
    assert box.inside(1.0)
