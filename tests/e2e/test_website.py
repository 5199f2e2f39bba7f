# SPDX-License-Identifier: BSD-3-Clause
"""The documentation as a site: every link of it leads somewhere, and nothing of it comes from a network."""

import html.parser
import re
import subprocess
import urllib.parse

import pytest

import harness

pytestmark = pytest.mark.plain


class Page(html.parser.HTMLParser):
    """What a page links to, what it loads, and what it can be linked by."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        assert values.get("type") != "module", "browsers do not load a module from a file"
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if "src" in values or tag == "link":
            self.loads.append(values.get("src") or values["href"])
        elif "href" in values:
            self.links.append(values["href"])


def is_elsewhere(link):
    return urllib.parse.urlsplit(link).scheme in ("http", "https", "mailto")


def missing_links(folder, pages):
    """Links of pages to files or anchors that do not exist."""
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urllib.parse.urlsplit(link)
            if is_elsewhere(link) or parts.scheme == "data" or link == "#":
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file() or folder not in target.parents:
                yield path.name, link
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                yield path.name, link


def test_the_site(tmp_path):
    folder = (tmp_path / "html").resolve()
    done = subprocess.run(["/usr/bin/python3", harness.ROOT / "docs" / "website.py", folder], capture_output=True, text=True,
                          timeout=200, check=False, env=harness.clean_environment())
    assert done.returncode == 0, done.stderr
    pages = {path: Page(path) for path in folder.rglob("*.html")}
    sources = {path.stem for path in (harness.ROOT / "docs").glob("*.md")} | {path.name for path in (harness.ROOT / "docs").glob("*.1")}
    assert sources <= {path.stem for path in pages} and (folder / "index.html").exists()
    assert not list(missing_links(folder, pages))
    assert not [(path.name, what) for path, page in pages.items() for what in page.loads if is_elsewhere(what)]
    assert sum(len(page.links) for page in pages.values()) > 1000
    # Styles and scripts neither come from elsewhere nor load something that does.
    for path in [*folder.rglob("*.css"), *folder.rglob("*.js")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"@import|url\(['\"]?(https?:|/)|^import ", text, re.MULTILINE), path
    # The search looks into an index that is a script, since pages that are opened as files cannot fetch anything.
    assert "transport_bytes" in (folder / "searchindex.js").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation():
    """Links of the section Documentation of README.md are the navigation of the site."""
    readme = (harness.ROOT / "README.md").read_text(encoding="utf-8").split("\n## Documentation\n")[1]
    listed = set(re.findall(r"\]\(([^)]*)\)", readme))
    pages = {f"docs/{path.name}" for pattern in ("*.md", "*.1") for path in (harness.ROOT / "docs").glob(pattern)}
    assert pages <= listed and all((harness.ROOT / name).exists() for name in listed)
