"""How items and texts become HTML: everything of the data is escaped or made safe first.

Items come from anybody: a Markdown item has no HTML, links or pictures of its own, an HTML item is
shown in a sandboxed frame under a policy of its own, and text is escaped. The texts of a study
come from whoever runs it, so that they may have links.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from comparity.collect.languages import fill_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

FOLDER = files("comparity.collect")


def _plain_heading(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    """Show a heading as a bold paragraph: the headings of a page tell its own parts."""
    return '<p class="heading">' if tokens[place].nesting == 1 else "</p>\n"


def _alternative_text(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    """Show a picture by its words: none is fetched from elsewhere."""
    return f"<em>{escape(tokens[place].content)}</em>"


def _no_link(*_: Any) -> str:
    return ""


def _outside_link(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    target = escape(str(tokens[place].attrs.get("href", "")))
    return f'<a href="{target}" target="_blank" rel="noopener noreferrer">'


@cache
def _markdown(links: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    parser.enable(["table", "strikethrough"])
    parser.add_render_rule("heading_open", _plain_heading)
    parser.add_render_rule("heading_close", _plain_heading)
    parser.add_render_rule("image", _alternative_text)
    parser.add_render_rule("link_open", _outside_link if links else _no_link)
    if not links:
        parser.add_render_rule("link_close", _no_link)
    return parser


@lru_cache(maxsize=2048)
def render_markdown(text: str, *, links: bool = False) -> Markup:
    """Return Markdown as HTML that holds nothing but text and its layout.

    Parameters
    ----------
    text : str
        Markdown; HTML in it is shown as it is written, pictures by their words.
    links : bool, optional
        Whether links may be followed, which open in a new tab. They are plain text otherwise, so
        that no judge is led away.

    Examples
    --------
    >>> print(render_markdown("# A *good* <b>answer</b>, see [this](https://example.org)"))
    <p class="heading">A <em>good</em> &lt;b&gt;answer&lt;/b&gt;, see this</p>
    <BLANKLINE>
    """
    return Markup(_markdown(links).render(text))


def wrap_html(snippet: str, *, title: str, language: str) -> str:
    """Return an HTML snippet as a document of its own, for a sandboxed frame."""
    style = "body{font:16px/1.5 system-ui,sans-serif;margin:12px;overflow-wrap:anywhere}"
    style += "img{max-width:100%}@media(prefers-color-scheme:dark){body{color:#e6e7ea}}"
    head = f'<!doctype html><html lang="{escape(language)}"><meta charset="utf-8">'
    head += '<meta name="color-scheme" content="light dark">'
    return f"{head}<title>{escape(title)}</title><style>{style}</style>{snippet}"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("comparity.collect", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"fill_in": fill_in, "markdown": render_markdown}
    return environment


def render_template(name: str, values: Mapping[str, Any]) -> str:
    """Return a page, or a part of one, with these values."""
    return _environment().get_template(f"{name}.html.jinja").render(values)
