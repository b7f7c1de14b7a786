"""Sphinx's configuration. build.py writes the pages that it reads."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

import lexers  # noqa: E402

project = "tirc"
author = "the authors of tirc"
copyright = "the authors of tirc, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "hawkmoth"]
needs_extensions = {"hawkmoth": "0.22"}

myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a page may begin with a smaller heading
html_theme = "furo"
html_title = "tirc"
html_favicon = str(HERE / "icon.svg")
html_static_path = [str(HERE / "style.css")]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sphinx = False

hawkmoth_clang = ["-std=c11"]
# The Python API: its binding is compiled and PyTorch is large; neither is needed to read it.
autodoc_mock_imports = ["tirc._native", "torch"]
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
smartquotes = False  # quotes belong to values
default_role = "literal"


def setup(app):
    app.config.html_extra_path = [str(app.srcdir / "extra")]  # reports, from pictures.py
    app.config.hawkmoth_root = str(app.srcdir / "header")  # of the C API, prepared by header.py
    for language in lexers.TirLexer.aliases:
        app.add_lexer(language, lexers.TirLexer)
