"""How pages get their words and become HTML: all data are escaped or made safe first.

Items come from anybody: a Markdown item has no HTML, links or pictures of its own, an HTML item is
shown in a sandboxed frame under a policy of its own, and text is escaped. The texts of a study
come from whoever runs it, so that they may have links.

There is one file of words for each language, and a study may have a file of its own, with the keys
of ``words/en.toml``. Its words are kept with the study, so that the study stays one file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from comparity.errors import FileAccessError, OptionError, StudyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from comparity.collect.study import StudyDescription


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


WORDS_FOLDER = FOLDER / "words"
ENDING = ".toml"
DIRECTIONS = ("ltr", "rtl")
MOST_BYTES = 2**18


@cache
def read_words(language: str) -> dict[str, Any]:
    """Return the words of the pages in a language that ships.

    Examples
    --------
    >>> read_words("en")["judging"]["undo"], read_words("zh")["judging"]["undo"]
    ('Undo', '撤销')
    """
    return tomllib.loads((WORDS_FOLDER / f"{language}{ENDING}").read_text(encoding="utf-8"))


def known_languages() -> list[str]:
    """Return the languages that ship.

    Examples
    --------
    >>> known_languages()
    ['de', 'en', 'es', 'zh']
    """
    return sorted(Path(one.name).stem for one in WORDS_FOLDER.iterdir())


def choose_words(language: str, home: Path) -> dict[str, Any]:
    """Return the words of a file of one's own; nothing for a language that ships.

    Parameters
    ----------
    language : str
        A language that ships, or the name of a TOML file.
    home : Path
        Folder that the file's name starts from.

    Raises
    ------
    OptionError, FileAccessError, StudyError
        The language does not ship, the file cannot be read, or its words are not those of
        ``en.toml``.
    """
    if language.endswith(ENDING):
        return _read_own(home / language)
    if language not in known_languages():
        known = [repr(one) for one in known_languages()]
        raise OptionError("language", language, [*known, "a file of words that ends in .toml"])
    return {}


def words_of(study: StudyDescription) -> dict[str, Any]:
    """Return the words of a study's pages.

    Words that this version added after the study was made are English.
    """
    if not study.words:
        return read_words(study.language)
    return {
        name: {**inner, **study.words.get(name, {})}
        if isinstance(inner, dict)
        else study.words[name]
        for name, inner in read_words("en").items()
    }


def fill_in(text: str, **values: object) -> str:
    """Return a text of the words with its names in braces filled in.

    Examples
    --------
    >>> fill_in("{done} of {of}", done=3, of="{done}")
    '3 of {done}'
    """
    return text.format(**values)


def flat_words(words: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each text with the name it has in the file.

    Examples
    --------
    >>> dict(flat_words(read_words("en")))["judging.undo"]
    'Undo'
    """
    for name, inner in words.items():
        if isinstance(inner, Mapping):
            yield from ((f"{name}.{key}", text) for key, text in inner.items())
        else:
            yield name, inner


def places_in(text: str) -> set[str]:
    """Return the names in braces of a text.

    Examples
    --------
    >>> sorted(places_in("{done} of {of}"))
    ['done', 'of']
    """
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def _read_own(file: Path) -> dict[str, Any]:
    where, hint = f"words {file.name!r}", "translate the values of words/en.toml; keep its keys."
    try:
        if file.stat().st_size > MOST_BYTES:
            found = f"{file.stat().st_size:,} bytes"
            raise StudyError(where, "this is too large for words.", found, hint)
        words = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FileAccessError(str(file), error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(where, "this cannot be read.", str(error), hint) from error
    if fault := next(_faults(words), None):
        raise StudyError(where, *fault, hint)
    return words


def _faults(words: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what keeps words from filling the pages: what was asked, and what was found."""
    english, own = dict(flat_words(read_words("en"))), dict(flat_words(words))
    if unknown := [name for name in own if name not in english]:
        yield "there is no such word.", ", ".join(unknown[:5])
    if missing := [name for name in english if name not in own]:
        yield f"{len(missing)} words are missing.", ", ".join(missing[:5])
    for name, text in own.items():
        if not isinstance(text, str):
            yield f"{name} must be text.", repr(text)
            continue
        try:
            has_own = places_in(text) - places_in(english[name])
        except ValueError as error:
            yield f"the braces of {name} must be closed.", str(error)
            continue
        if has_own:
            allowed = ", ".join(f"{{{one}}}" for one in sorted(places_in(english[name])))
            yield f"{name} can fill in {allowed or 'nothing'}.", text
    if own["direction"] not in DIRECTIONS:
        yield f"direction must be {' or '.join(DIRECTIONS)}.", own["direction"]
