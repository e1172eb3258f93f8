"""Every text of the pages is in the catalog of each other language, and the catalog has nothing else."""

import ast
import re
import tomllib
from pathlib import Path
from string import Formatter

import pytest

from geodual.funds import DataError
from geodual.funds.language import LANGUAGES, in_language, read_catalog, reword, say, say_all

FUNDS = Path(__file__).parents[2] / "src" / "geodual" / "funds"
# Which arguments are texts: by function, their positions and names.
TEXTS = {
    "say": (0,),
    "phrase": (0,),
    "count_things": (1, 2),
    "Column": (1, "title", "hint"),
    "Group": (1, 2),
    "Plot": (1, "label", "title"),
    "TrustFact": (0, 1, 4),
    "caption_of": (0,),
    "make_details": (0,),
    "make_filled_table": (1,),
    "make_link": (1,),
    "make_paragraph": (0,),
    "make_period_tabs": (5,),
    "make_section": (1, "short"),
    "make_table": (2,),
    "make_tabs": (3, "label"),
    "name_column": (2, "title"),
    "show_figure": (1, 2),
    "Finding": (0, "kind"),
    **dict.fromkeys(("Table", "computed", "returned", "stored"), (0, 1)),
    "phrases": range(99),
}
JS_TEXT = re.compile(r"""\bsay\(\s*("(?:[^"\\]|\\.)*")""")


def constants(node):
    """Return the texts that an argument may be."""
    if isinstance(node, ast.IfExp):
        return constants(node.body) + constants(node.orelse)
    if isinstance(node, ast.Starred | ast.Tuple):
        return [text for each in ast.iter_child_nodes(node) for text in constants(each)]
    assert not isinstance(node, ast.JoinedStr), (
        f"line {node.lineno}: a template, not an f-string: {ast.unparse(node)}"
    )
    return (
        [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value else []
    )


def texts_of_python(path):
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        name = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
        for place in TEXTS.get(name, ()):
            named = [each.value for each in node.keywords if each.arg == place]
            given = named if isinstance(place, str) else node.args[place : place + 1]
            found += [text for each in given for text in constants(each)]
    return found


def texts_of_script(path):
    return [ast.literal_eval(text) for text in JS_TEXT.findall(path.read_text("utf-8"))]


@pytest.fixture(scope="module")
def used():
    """The texts of each file, by its place below `funds`."""
    python = {path: texts_of_python(path) for path in FUNDS.rglob("*.py")}
    scripts = {path: texts_of_script(path) for path in (FUNDS / "report").glob("*.js")}
    return {
        path.relative_to(FUNDS).as_posix(): set(texts) for path, texts in (python | scripts).items() if texts
    }


def known_to(file, catalog):
    """Return the texts of a script, of all pages, or of all files whose texts are stored."""
    if file.endswith(".js"):
        return set(catalog.get(file, {}))
    of_pages = file.startswith("report/")
    return set().union(*(texts for name, texts in catalog.items() if name.startswith("report/") == of_pages))


def placeholders(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("name", LANGUAGES[1:])
def test_the_catalog_has_every_text_and_nothing_else(name, used):
    catalog = read_catalog(name)
    missing = {file: sorted(texts - known_to(file, catalog)) for file, texts in used.items()}
    assert {file: texts for file, texts in missing.items() if texts} == {}
    unused = {file: sorted(set(texts) - used.get(file, set())) for file, texts in catalog.items()}
    assert {file: texts for file, texts in unused.items() if texts} == {}


@pytest.mark.parametrize("name", LANGUAGES[1:])
def test_translations_have_the_same_placeholders_and_agree(name):
    known = {}
    for file, texts in read_catalog(name).items():
        for text, translation in texts.items():
            assert placeholders(translation) == placeholders(text), f"{file}: {text}"
            assert known.setdefault(text, translation) == translation, f"{file}: {text}"


def test_files_stand_in_the_order_of_the_alphabet():
    """So that branches that add texts merge without conflicts."""
    for name in LANGUAGES[1:]:
        text = (FUNDS / "languages" / f"{name}.toml").read_text("utf-8")
        assert list(tomllib.loads(text)) == sorted(tomllib.loads(text))


def test_a_text_is_said_in_the_language_of_the_block():
    assert say("{n} fund", n=1) == "1 fund"
    assert say("No fund.") == "No fund."
    with in_language("zh"):
        assert say("{n} fund", n=1) == "1 只基金"
        assert say("A fund with {braces}") == "A fund with {braces}"
        assert say_all("一。", "", "二。") == "一。二。"
    assert say("{n} fund", n=1) == "1 fund"


def test_a_stored_text_is_recognized():
    with in_language("zh"):
        assert reword("It is not known. No index was given. Strange.") == "暂无数据。未提供业绩基准。Strange."
        assert reword("Strange. No index was given.") == "Strange. 未提供业绩基准。"
        assert reword("") == ""


def test_an_unknown_language_is_one_clear_error():
    with pytest.raises(DataError, match="`language` must be one of en, zh, got 'fr'"), in_language("fr"):
        pass
