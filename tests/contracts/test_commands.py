"""Every command is documented and shows how it is called."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from comparity.cli import commands

DOCS = Path(__file__).parents[2] / "docs" / "commands.md"


def leaves(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        if isinstance(command, click.Group):
            yield from leaves(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMANDS = dict(leaves(commands, "comparity"))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example(name: str) -> None:
    command = COMMANDS[name]
    shown = command.get_help(click.Context(command, info_name=name))
    assert f"  {name} " in shown.partition("Example:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_docs_have_a_section_and_name_every_option(name: str) -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert f"## `{name}" in text
    options = [parameter for parameter in COMMANDS[name].params if parameter.opts[0][:2] == "--"]
    assert not [option.opts[0] for option in options if f"`{option.opts[0]}" not in text]
