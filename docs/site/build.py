"""Builds the site: python build.py TIRC FOLDER. The site is in FOLDER/html.

pages.py turns the documents into pages, pictures.py runs and photographs reports, header.py reads
the C API, and Sphinx does the rest; a warning of Sphinx is an error."""

import shutil
import subprocess
import sys
from pathlib import Path

import header
from pages import Site
from pictures import Pictures

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def write_reference(folder):
    """The page of the C API, the header that it reads, and the page of the Python API."""
    text = (ROOT / "include/tirc.h").read_text()
    (folder / "header").mkdir()
    (folder / "header/tirc.h").write_text(header.prepare(text))
    (folder / "reference").mkdir()
    (folder / "reference/c.rst").write_text(header.page(text))
    shutil.copy(HERE / "python.rst", folder / "reference")


def main():
    tirc, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    site, pictures = Site(pages), Pictures(tirc, folder / "runs", pages)
    site.write_documents(pictures.text)
    site.write_sources()
    write_reference(pages)
    pictures.take()
    sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", HERE]
    sys.exit(subprocess.run([*sphinx, pages, folder / "html"]).returncode)


if __name__ == "__main__":
    main()
