"""Tokens of personal links: 128 random bits, of which only the SHA-256 is kept."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping

TOKEN_BYTES = 16
"""128 bits."""


def new_token() -> str:
    """Return a fresh token, safe in an address.

    Examples
    --------
    >>> len(new_token()), new_token() != new_token()
    (22, True)
    """
    return secrets.token_urlsafe(TOKEN_BYTES)


def new_public_id() -> str:
    """Return an id that tells nothing of what it stands for.

    Examples
    --------
    >>> len(new_public_id())
    22
    """
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_sha256(token: str) -> str:
    """Return what is kept of a token.

    Examples
    --------
    >>> token_sha256("abc")[:16]
    'ba7816bf8f01cfea'
    """
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def external_sha256(external: Mapping[str, str]) -> str | None:
    """Return one number for ids of a panel, whatever their order; None for no ids.

    Examples
    --------
    >>> one = external_sha256({"PROLIFIC_PID": "5f", "STUDY_ID": "61"})
    >>> one == external_sha256({"STUDY_ID": "61", "PROLIFIC_PID": "5f"})
    True
    """
    if not external:
        return None
    return token_sha256(json.dumps(dict(sorted(external.items()))))
