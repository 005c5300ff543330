"""What pages show is written again from what the code prints, and nothing else of them changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documentation import blocks, refresh
from tests.documentation.sessions import Session

PAGE = """# A page

```python
>>> n = 2
>>> n + 1
{doctest}
>>> print(n)
2

```

```console
$ printf 'one\\ntwo\\nthree\\n'
{first}
[...]
three
$ echo 2
2
```
"""


def test_stale_outputs_of_doctests_and_commands_are_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (blocks, refresh):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(doctest="4\n5", first="uno"), encoding="utf-8")
    refresh.refresh_doctests("page.md")
    refresh.refresh_commands("page.md", Session(tmp_path))
    assert page.read_text(encoding="utf-8") == PAGE.format(doctest="3", first="one")
