"""The page itself: a few files in memory, the same for all, and what a browser may do with them.

Nothing in them is anybody's, so nobody is asked who he is. What the page may do is said here as
narrowly as a browser understands it: scripts and styles of ours and no others, no text that
becomes HTML, no frame around it, no word to anybody else.
"""

from collections.abc import Mapping
from importlib import resources

from aiohttp import web

from trainingjobs.handlers.answers import READY
from trainingjobs.model import labels

PATH = "/ui/{file}"
_TYPES = {
    "html": "text/html",
    "js": "text/javascript",
    "css": "text/css",
    "svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Server": labels.COMPONENT_NAME,
    # the next version of the operator has other files, which belong together
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_FIRST = "index.html"


def found() -> dict[str, tuple[str, bytes]]:
    """All files by name, with their types."""
    folder = resources.files("trainingjobs.handlers.page") / "static"
    return {
        item.name: (_TYPES[item.name.rpartition(".")[2]], item.read_bytes())
        for item in folder.iterdir()
    }


class Files:
    """The handler of the page's files."""

    def __init__(self, files: Mapping[str, tuple[str, bytes]]) -> None:
        self._files = files

    async def first(self, request: web.Request) -> web.Response:
        """The page."""
        return self._answer(request, _FIRST)

    async def one(self, request: web.Request) -> web.Response:
        """One of its files."""
        return self._answer(request, request.match_info["file"])

    def _answer(self, request: web.Request, name: str) -> web.Response:
        if name not in self._files:
            raise web.HTTPNotFound
        request[READY] = True
        kind, body = self._files[name]
        answer = web.Response(body=body, content_type=kind, charset="utf-8", headers=HEADERS)
        answer.force_close()
        return answer
