"""Takes the pictures of the site: runs the commands that write a page of --analyze, and photographs
a section of it in a browser, in the light and in the dark."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCHEMES = ("light", "dark")


def browser():
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


class Pictures:
    """Collects what to photograph while pages are written; `take` does it with one browser."""

    def __init__(self, tirc, folder, pages):
        """Runs commands in a folder with the programs of the examples, as the documents' tests."""
        self.tirc, self.folder = tirc, folder
        self.images, self.reports = pages / "pictures", pages / "extra/reports"
        self.names, self.shots = {}, []
        for made in (folder, self.images, self.reports):
            made.mkdir(parents=True)
        for path in [*ROOT.glob("examples/*/*.tir"), *ROOT.glob("examples/*/*.sched")]:
            shutil.copy(path, folder)

    def report(self, block):
        """Runs the last command of the block, which writes a page, and returns its name."""
        command = block.strip().splitlines()[-2]
        words = shlex.split(command, comments=True)
        name = words[words.index("-o") + 1]
        assert self.names.setdefault(name, command) == command, f"two commands write {name}"
        if not (self.reports / name).exists():
            run = [self.tirc, *words[1:], "--device", "sim"]
            subprocess.run(run, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
            shutil.copy(self.folder / name, self.reports)
        return name

    def text(self, block, section, caption, root):
        """The picture of a section of the report that the command of the block writes."""
        name = self.report(block)
        stem = f"{Path(name).stem}-{section}"
        self.shots.append((name, section, stem))
        caption = re.sub(r"\s+", " ", caption)
        return "\n".join(
            f"```{{image}} /pictures/{stem}-{scheme}.png\n:alt: {caption}\n:class: only-{scheme}\n"
            f":target: {root}reports/{name}\n```\n"
            for scheme in SCHEMES
        )

    def take(self):
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=browser(), args=["--no-sandbox", "--disable-gpu"]
            )
            for scheme in SCHEMES:
                page = chromium.new_page(
                    viewport={"width": 900, "height": 700},
                    color_scheme=scheme,
                    device_scale_factor=2,
                )
                for name, section, stem in self.shots:
                    page.goto((self.reports / name).as_uri())
                    page.wait_for_selector("[data-ready=yes]", state="attached")
                    path = self.images / f"{stem}-{scheme}.png"
                    page.locator(f"#{section}").screenshot(path=path)
            chromium.close()
