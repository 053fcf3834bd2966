"""Hooks of mkdocs: the site is made from the same files that GitHub shows, without a copy.

README, CONTRIBUTING, CHANGELOG and the README of each system lie outside ``docs/`` and become pages; links are
rewritten to where the site has the file; headings get GitHub's anchors. A link to a file that is no page (an example,
say) becomes its path, as code: the site has no such file, and the repository's address is not known.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SYSTEMS = ROOT / "memgraph_rag" / "systems"
PAGES_OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    **{
        page.relative_to(ROOT).as_posix(): f"systems/{page.parent.name}.md"
        for page in sorted(SYSTEMS.glob("*/README.md"))
    },
}
"""Files outside ``docs/``, of the root and of each system, and the names of their pages."""

_CODE_OR_LINK = re.compile(r"```.*?```|`[^`\n]+`|\[(?P<text>[^\]]*)\]\((?!\w+:|#)(?P<target>[^)\s]+)\)", re.DOTALL)


def on_config(config: Any) -> Any:
    """The configuration, with GitHub's anchors."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = anchor
    return config


def on_files(files: Any, config: Any) -> Any:
    """The files of ``docs/`` and those outside it."""
    from mkdocs.structure.files import File  # here: tests load this module without mkdocs

    for source, page in PAGES_OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page's text, with its links rewritten."""
    return rewrite_links(markdown, page.file.src_uri)


def anchor(heading: str, separator: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", separator)


def rewrite_links(markdown: str, page: str) -> str:
    """Links of a page, relative to its place in the repository, as links relative to its place in the site."""
    sources = {name: source for source, name in PAGES_OUTSIDE.items()}
    folder = posixpath.dirname(sources.get(page, f"docs/{page}"))

    def rewritten(match: re.Match[str]) -> str:
        text, target = match["text"], match["target"]
        if target is None:
            return match[0]
        path, mark, fragment = target.partition("#")
        linked = posixpath.normpath(posixpath.join(folder, path))
        name = PAGES_OUTSIDE.get(linked) or linked.removeprefix("docs/")
        if name == linked and not (ROOT / linked).exists():
            return match[0]  # mkdocs warns
        if name == linked:
            return f"`{linked}`" if text.strip("`") == linked else f"{text} (`{linked}`)"
        return f"[{text}]({posixpath.relpath(name, posixpath.dirname(page) or '.')}{mark}{fragment})"

    return _CODE_OR_LINK.sub(rewritten, markdown)
