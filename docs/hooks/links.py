"""Links of Markdown files that are valid in the repository, made valid on the site."""

import posixpath
import re
from collections.abc import Callable

_LINK = re.compile(r"(?P<bang>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^()\s]+)\)")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def rewrite_links(
    markdown: str, source: str, place_on_site: Callable[[str], str | None], page: str
) -> str:
    """Rewrite the relative links of a page; fenced code stays as it is.

    `source` is the file in the repository, `page` its path on the site. A link to a file that the
    site does not have becomes its text.
    """

    def rewrite(match: re.Match[str]) -> str:
        path, mark, anchor = match["target"].partition("#")
        if not path or "://" in path:
            return match[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        place = place_on_site(target) or place_on_site(f"{target}/README.md")
        if place is None:
            return match["text"]
        relative = posixpath.relpath(place, posixpath.dirname(page) or ".")
        return f"{match['bang']}[{match['text']}]({relative}{mark}{anchor})"

    parts = []
    end = 0
    for fence in _FENCE.finditer(markdown):
        parts += [_LINK.sub(rewrite, markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(rewrite, markdown[end:])])
