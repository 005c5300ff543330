"""How commands are found, run and left, also where memory, a stream or Ctrl-C fails them."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import Any, TextIO

import click

from comparity.errors import ComparityError, Option, OutOfMemoryError
from comparity.errors.spelling import visible
from comparity.tables.memory import machine_memory

# 0, 1 and 3 are findings and 2 is bad input, so nothing else may use them.
DEFECT = 70
"""Status of a mistake in this program, as sysexits.h has it (EX_SOFTWARE)."""
NOT_WRITTEN = 74
"""Status where what was found cannot be printed, as sysexits.h has it (EX_IOERR)."""
INTERRUPTED = 130
"""Status after Ctrl-C, as shells have it."""
CUT_OFF = 141
"""Status where the reader of a pipe went away before all was printed, as shells have it."""

# Full, closed, broken or too many: no mistake of ours.
OUTSIDE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO, errno.ENXIO),
    *(errno.EROFS, errno.EMFILE, errno.ENFILE),
}

LEAST_MEMORY = 640 * 2**20
# Libraries reserve room for each processor that they do not use.
RESERVED = 128 * 2**20
MOST_MEMORY = 0.9
NO_ROOM_TO_IMPORT = ("failed to map segment", "annot allocate memory")


class BadInput(click.ClickException):
    """Input that cannot be judged: one of our errors, said without a traceback."""

    exit_code = 2

    def format_message(self) -> str:
        """Return the message with everything that could steer a terminal spelled out."""
        return visible(self.message, keep="\n")


class NotWritten(BadInput):
    """A result that is known and cannot be printed."""

    exit_code = NOT_WRITTEN

    def __init__(self, error: OSError) -> None:
        where = f" ({error.filename})" if error.filename else ""
        super().__init__(
            f"the output cannot be written{where}.\n  found: {error.strerror}\n"
            "  hint:  check where it is sent to: a full disk, a closed stream?"
        )


@contextmanager
def tell_faults() -> Iterator[None]:
    """Raise what fails outside of this program as what the command line says of it.

    click would leave with 1 where a pipe is closed, which says that something was found, and in
    silence where a file ends too soon.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except MemoryError as error:
        raise BadInput(str(OutOfMemoryError(str(error)))) from error
    except SystemError as error:
        # What calls DuckDB may be unable to hand on that memory has run out; what calls a compiled
        # kernel, that somebody pressed Ctrl-C.
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        if not isinstance(error.__cause__, MemoryError):
            raise
        raise BadInput(str(OutOfMemoryError(str(error.__cause__)))) from error
    except ImportError as error:
        if not any(words in str(error) for words in NO_ROOM_TO_IMPORT):
            raise
        raise BadInput(str(OutOfMemoryError(str(error)))) from error
    except BrokenPipeError as error:
        silence_streams()
        raise SystemExit(CUT_OFF) from error
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise BadInput(str(OutOfMemoryError(str(error)))) from error
        if error.errno not in OUTSIDE:
            raise
        silence_streams(1)
        raise NotWritten(error) from error
    except EOFError as error:
        raise RuntimeError("a file ended where nobody expected it") from error


def limit_memory() -> None:
    """Let this process ask for nine tenths of all memory and no more, where the system can.

    What asks for more is told so, and we can say what to try; beyond all memory, the system ends
    the process without a word.
    """
    if sys.platform != "linux":
        return
    import resource

    room = LEAST_MEMORY + RESERVED * (os.cpu_count() or 1)
    most = max(int(MOST_MEMORY * machine_memory()), room)
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft == resource.RLIM_INFINITY or soft > most:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def check_memory() -> None:
    """Refuse to begin where libraries of linear algebra would end the process, with status 1."""
    if sys.platform == "win32":
        return
    import resource

    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed != resource.RLIM_INFINITY and allowed < LEAST_MEMORY:
        found = f"a limit of {allowed / 2**20:,.0f} MB, where {LEAST_MEMORY / 2**20:,.0f} are used"
        raise OutOfMemoryError(f"{found} before any data are read")


def open_streams() -> None:
    """Make both streams safe to print to.

    A terminal with few characters shows the others as escapes instead of failing. A stream that
    was closed would leave its number to the next file that is opened, which would then be printed
    into: what is printed in its place fails, and messages go nowhere.
    """
    if sys.stdout is None:
        sys.stdout = _stand_in(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _stand_in(2, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def silence_streams(*numbers: int) -> None:
    """Print no more to streams that cannot be written, both by default.

    Python writes what is left in them when it ends, and would fail and say so then.
    """
    for number in numbers or (1, 2):
        _open_nothing(number, os.O_WRONLY)


def _stand_in(number: int, mode: int) -> TextIO:
    """Open a stream on a number that was closed; one opened for reading refuses to be written."""
    _open_nothing(number, mode)
    return open(number, "w", encoding="utf-8", closefd=False)


def _open_nothing(number: int, mode: int) -> None:
    nothing = os.open(os.devnull, mode)
    if nothing != number:
        os.dup2(nothing, number)
        os.close(nothing)


UNCHECKED = ("doctor",)
"""Commands that run with packages of any version."""


class SuggestingGroup(click.Group):
    """Commands by name; a misspelt one is answered with the nearest."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one could have been meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not near:
                raise
            message = f"No such command {args[0]!r}. Did you mean {near[0]!r}?"
            raise click.UsageError(message, ctx) from error


class LazyGroup(SuggestingGroup):
    """Commands by name, each an object of that name in a module of :mod:`comparity.cli`.

    Parameters
    ----------
    homes : mapping of str to str
        The module of each command, in the order ``--help`` lists them.
    """

    def __init__(self, *args: Any, homes: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.homes = dict(homes)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a piece of work."""
        return list(self.homes)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; it runs only with packages that are recent enough."""
        found = super().resolve_command(ctx, args)
        if not ctx.resilient_parsing and args[0] not in UNCHECKED and "--help" not in args:
            # Imported here so that --help reads no metadata.
            from comparity.errors.requirements import check_requirements

            check_requirements()
        return found

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name not in self.homes:
            return None
        command = getattr(import_module(f"comparity.cli.{self.homes[cmd_name]}"), cmd_name)
        assert isinstance(command, click.Command), cmd_name
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the words of the command line; ``--help`` prints here."""
        with tell_faults():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of ours becomes a message and status 2."""
        with tell_faults():
            try:
                check_memory()
                limit_memory()
                return super().invoke(ctx)
            except ComparityError as error:
                # Of two commands that call an option differently, the one that runs is right.
                running = self.get_command(ctx, ctx.invoked_subcommand or "") or self
                known = declared_options(self) | declared_options(running)
                raise BadInput(error.tell(partial(spell_option, known=known))) from error


def declared_options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command, or of all commands of a group, by the names of choices."""
    found = {one.name or "": one for one in command.params if isinstance(one, click.Option)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            one = command.get_command(context, name)
            assert one is not None, name
            found = declared_options(one) | found
    return found


def spell_option(named: Option, known: Mapping[str, click.Option]) -> str:
    """Name a choice as the command line writes it; one that it does not have, as Python does.

    Examples
    --------
    >>> known = {
    ...     "score_ties": click.Option(["--score-ties"]),
    ...     "tpr": click.Option(["--tpr"]),
    ...     "continuous": click.Option(["--continuous"], is_flag=True),
    ... }
    >>> spell_option(Option("score_ties"), known), spell_option(Option("score_ties", "half"), known)
    ('--score-ties', "--score-ties 'half'")
    >>> spell_option(Option("tpr", [0.8, 0.84]), known), spell_option(Option("x", 1), known)
    ('--tpr 0.8,0.84', 'x=1')
    >>> spell_option(Option("continuous", False), known)
    'no --continuous'
    """
    if named.name not in known:
        return str(named)
    option = known[named.name].opts[0]
    # A flag is set by naming it, and whatever has no value is left out.
    if named.value is None or named.value is False:
        return f"no {option}"
    if named.value is True or not named.has_value:
        return option
    several = isinstance(named.value, list)
    return f"{option} {','.join(map(str, named.value)) if several else repr(named.value)}"
