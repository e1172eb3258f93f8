"""Settings of the documentation site. `make docs` builds it.

The environment variable GEODUAL_DOCS_RUN=0 leaves the examples of the gallery unexecuted, for a quick build.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

from docutils.nodes import Node, SkipNode
from docutils.utils.math.latex2mathml import tex2mathml
from jinja2.bccache import Bucket, BytecodeCache
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator
from sphinx_gallery.sorting import ExplicitOrder

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import geodual  # noqa: E402
from docs.command_reference import describe_commands  # noqa: E402
from docs.make_notebooks import write_notebooks  # noqa: E402
from docs.setting_reference import describe_settings  # noqa: E402
from docs.table_reference import describe_tables  # noqa: E402

project = "geodual"
author = "The geodual developers"
copyright = author  # noqa: A001
release = version = geodual.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_templates",
    "_notebooks",
    "examples.md",
    "gallery/**/*.ipynb",
    "gallery/**/*.py",
    "gallery/**/*.md5",
]
templates_path = ["_templates"]
highlight_language = "none"  # blocks without a language are commands and the like
smartquotes = False  # in docstrings, quotes are those of Python
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(numpy|scipy|sklearn|pandas|matplotlib|pymanopt)\..*")]
suppress_warnings = ["config.cache"]  # functions in the settings cannot be cached; nothing is wrong with it

# Pages in Markdown
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

# The reference, from docstrings. Single backquotes in them link where there is something to link to.
default_role = "name"
autosummary_generate = True
autodoc_typehints = "none"  # docstrings give the types in words
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": ExplicitOrder(
        [f"../examples/{name}" for name in ("optimize", "model", "metric", "funds")]
    ),
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": os.environ.get("GEODUAL_DOCS_RUN", "1") != "0",
    "backreferences_dir": "gallery/used",
    "doc_module": ("geodual",),
    "reference_url": {"geodual": None},
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "download_all_examples": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "geodual"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False
html_sidebars = {"comparison": [], "questions": [], "roadmap": [], "releases": []}
html_theme_options: dict[str, Any] = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


class CompiledOnce(BytecodeCache):
    """Compiled templates in memory, for all environments of Jinja that share it."""

    def __init__(self) -> None:
        self.compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take the code from memory, if it is there."""
        if bucket.key in self.compiled:
            bucket.bytecode_from_string(self.compiled[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code."""
        self.compiled[bucket.key] = bucket.bytecode_to_string()


class NameRole(PyXRefRole):
    """A name in single backquotes: a link if the reference has it, plain code otherwise."""

    def process_link(
        self, env: BuildEnvironment, refnode: pending_xref, has_explicit_title: bool, title: str, target: str
    ) -> tuple[str, str]:
        """Make it a Python reference that need not exist."""
        refnode.update_all_atts({"refdomain": "py", "reftype": "obj", "may_be_missing": True}, replace=True)
        return super().process_link(env, refnode, has_explicit_title, title, target)


def show_as_code(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: Node) -> Node | None:
    """Show a name without page as code."""
    return content if node.get("may_be_missing") else None


def write_formula(writer: HTML5Translator, node: Node) -> None:
    """Write a formula as MathML, which browsers show by themselves, without scripts and network."""
    formula = re.sub(r"frac(\w)(\w)", r"frac{\1}{\2}", node.astext())  # docutils does not know \tfrac12
    writer.body.append(tex2mathml(formula, as_block=node.tagname == "math_block"))
    raise SkipNode


def skip_foreign_member(
    app: Sphinx, what: str, name: str, member: object, skip: bool, options: object
) -> bool | None:
    """Leave out what classes inherit from other libraries; those document it themselves."""
    function = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", member))
    module = getattr(function, "__module__", None) or "geodual"
    return True if what == "class" and module.split(".")[0] != "geodual" else None


def insert_descriptions(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace the marks in two pages by the descriptions of every command, table and setting."""
    marks = {
        "reference/command_line": {"<!-- commands -->": describe_commands},
        "reference/funds": {"<!-- tables -->": describe_tables, "<!-- settings -->": describe_settings},
    }
    if page in marks:
        app.env.note_reread()  # the program may change while the page does not
        for mark, describe in marks[page].items():
            source[0] = source[0].replace(mark, describe())


def setup(app: Sphinx) -> None:
    """Connect our changes to Sphinx."""
    # numpydoc compiles its template anew for every docstring, which takes an eighth of the time of a build.
    docscrape_sphinx.SandboxedEnvironment = partial(SandboxedEnvironment, bytecode_cache=CompiledOnce())
    app.connect("autodoc-skip-member", skip_foreign_member)
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.add_role("name", NameRole())
    app.connect("missing-reference", show_as_code)
    app.connect("source-read", insert_descriptions)
    app.connect("builder-inited", lambda app: write_notebooks(Path(app.srcdir) / "_notebooks"))
