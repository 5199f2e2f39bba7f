#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a site of the Markdown pages: website.py FOLDER. The first page is README.md, whose section Documentation
is the navigation, too. The manual pages of section 1 are pages as well. All that the site loads is in FOLDER."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from sphinx.application import Sphinx
from sphinx.util.console import nocolor

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Where pages of other folders are in the site; those of docs/ are at its top.
PLACES = {"README.md": "index.md", "tests/README.md": "tests.md", "CONTRIBUTING.md": "contributing.md",
          "CHANGELOG.md": "changelog.md"}
CONFIGURATION = {
    "project": "vampire",
    "html_title": "vampire",
    "html_theme": "furo",
    "extensions": ["myst_parser"],
    "myst_heading_anchors": 4,
    # Examples show parts of files, which are not whole programs of their language.
    "suppress_warnings": ["misc.highlighting_failure", "myst.header"],
    "highlight_language": "none",
    "html_copy_source": False,
    "html_show_copyright": False,
    "html_show_sphinx": False,
    "html_use_index": False,
    "smartquotes": False,
    "html_theme_options": {"light_css_variables": {"color-brand-primary": "#8c2232", "color-brand-content": "#8c2232",
                                                   "code-font-size": "75%"},
                           "dark_css_variables": {"color-brand-primary": "#f0909c", "color-brand-content": "#f0909c"}},
}


def place_of(path):
    """The page of the site made of a file of the source; None: it is no page."""
    name = str(path.relative_to(ROOT))
    if name in PLACES:
        return PLACES[name]
    return path.name + (".md" if path.suffix == ".1" else "") if path.parent == ROOT / "docs" and path.suffix in (".md", ".1") else None


def with_links_of_the_site(text, page, pages):
    """The page with links to where their targets are in the site. What is no page is copied, for downloading."""

    def link(found):
        target, anchor = (found[1].split("#") + [""])[:2]
        if ":" in target or not target:
            return found[0]
        path = (page.parent / target).resolve()
        place = place_of(path)
        if not path.is_file():
            sys.exit(f"docs/website.py: {page.relative_to(ROOT)} links to {target}, which does not exist")
        if place is None:
            place = f"files/{path.relative_to(ROOT)}"
            (pages / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, pages / place)
        return f"]({place}{'#' + anchor if anchor else ''})"

    return re.sub(r"\]\(([^)\s]+)\)", link, text)


def navigation(readme):
    """README.md with its section Documentation as tables of contents: "* **CAPTION**: LINK · LINK" is one of them."""

    def table(found):
        entries = "".join(f"{(name[0].upper() + name[1:]).strip('`')} <{page}>\n"
                          for name, page in re.findall(r"\[(.*?)\]\((.*?)\.md\)", found[2]))
        return f"```{{toctree}}\n:hidden:\n:caption: {found[1]}\n\n{entries}```\n"

    before, after = readme.split("\n## Documentation\n")
    tables = re.findall(r"^\* \*\*(.*?)\*\*: (.*(?:\n  .*)*)", after, re.MULTILINE)
    return before + "\n## Documentation\n" + after + "\n" + "".join(table([None, *entry]) for entry in tables)


def manuals():
    """The pages that are manual pages: {"vampire.json(5)": "configuration.md"}."""
    named = {page.name: re.match(r"<!-- (\S+\(\d\)):", page.read_text(encoding="utf-8")) for page in (ROOT / "docs").glob("*.md")}
    return {f"{page.stem}(1)": page.name for page in (ROOT / "docs").glob("*.1")} | {
        name[1]: page for page, name in named.items() if name}


def text_of(page):
    if page.suffix == ".1":
        made = subprocess.run(["mandoc", "-Tmarkdown", page], capture_output=True, text=True, check=True).stdout
        # Its first and last line are those of a printed page.
        made = re.sub("^# ", "## ", "\n".join(made.rstrip().split("\n")[1:-1]), flags=re.MULTILINE)
        # What is indented is an example after a colon or comma, else the meaning of the term above.
        made = re.sub(r"(?<![:,])\n\n((?:\t.*\n)+)", lambda found: "\n\n" + found[1].replace("\t", "> "), made)
        pages = manuals()
        made = re.sub(r"[\w.-]+\(\d\)", lambda name: f"[{name[0]}]({pages[name[0]]})" if name[0] in pages else name[0], made)
        return f"# {page.stem}({page.suffix[1:]})\n\n{made}\n"
    return page.read_text(encoding="utf-8")


def mend(static):
    """What Debian's build of furo lacks: a style comes from the root of the server, a script is a module, which no
    browser loads from a file, and the theme "auto" is never dark."""
    style, script = static / "styles" / "furo.css", static / "scripts" / "furo.js"
    text = re.sub(r"@import url\(/(javascript/\S+?)\);", lambda found: pathlib.Path("/usr/share", found[1]).read_text(encoding="utf-8"),
                  style.read_text(encoding="utf-8"))
    dark = re.search(r'body\[data-theme="dark"\] \{([^}]*--color[^}]*)\}', text)[1]
    text += f'@media (prefers-color-scheme: dark) {{ body[data-theme="auto"] {{{dark}}} }}\n'
    # Manual pages have what an option means in a quotation.
    style.write_text(text + "blockquote { background: none; padding-top: 0; padding-bottom: 0 }\n", encoding="utf-8")
    module = re.fullmatch(r'import (?:\* as )?Gumshoe from "\./(.*?)";\n(.*)', script.read_text(encoding="utf-8"), re.DOTALL)
    if module:
        script.write_text((script.parent / module[1]).read_text(encoding="utf-8") + module[2], encoding="utf-8")
    for page in static.parent.glob("*.html"):
        page.write_text(page.read_text(encoding="utf-8").replace('<script type="module" ', "<script "), encoding="utf-8")


def main():
    nocolor()
    out = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as made:
        pages = pathlib.Path(made)
        for page in [*(ROOT / name for name in PLACES), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*.1")]:
            text = with_links_of_the_site(text_of(page), page, pages)
            (pages / place_of(page)).write_text(navigation(text) if page.name == "README.md" and page.parent == ROOT else text,
                                                encoding="utf-8")
        application = Sphinx(str(pages), None, str(out), f"{made}/doctrees", "html", confoverrides=CONFIGURATION, status=None,
                             warningiserror=True, keep_going=True)
        application.build()
        mend(out / "_static")
        return application.statuscode


if __name__ == "__main__":
    sys.exit(main())
