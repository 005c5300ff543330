"""What judges see and send: each handler reads a form, calls one function of the store, renders."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from comparity.collect.rendering import FOLDER, wrap_html
from comparity.collect.safety import ITEM_POLICY
from comparity.collect.visits import Page, Visit

if TYPE_CHECKING:
    from comparity.collect.joined_judge import Assignment, Judge, Outcome, Receipt

# What the script may report of a judge's attention.
EVENTS = frozenset({"page shown", "focus lost", "focus gained", "offline", "online"})
OPAQUE = re.compile(r"[A-Za-z0-9_-]{8,64}")
PARAMETER = re.compile(r"[A-Za-z0-9_]{1,32}")
VALUE = re.compile(r"[ -~]{1,128}")
MOST_PARAMETERS = 8
LONGEST = 24 * 3600 * 1000
EXTERNAL = "external."
STATIC = {
    "style.css": "text/css; charset=utf-8",
    "judge.js": "text/javascript; charset=utf-8",
    "dashboard.css": "text/css; charset=utf-8",
    "dashboard.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "openapi.json": "application/json",
}
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"})
# States whose page is a template of the same name, with nothing to look up.
PLAIN = {"consent": "consent", "break": "rest", "done": "done", "closed": "closed"}
PLAIN |= {"excluded": "excluded", "paused": "paused"}
# The part of a page that shows what is to be judged.
PARTS = {"compare": "pair", "rate": "rating"}
QUESTIONS = ("thinking", "hurry", "difficulty", "certainty", "tiredness", "annoyance")
POINTS = range(1, 8)
"""What is asked of the effort, and how much can be said."""


def show_turn(visit: Visit) -> Response:
    """Show what is next for whoever asks."""
    judge = visit.judge
    if judge is None:
        return visit.show("welcome", external={})
    if judge.state in PLAIN:
        return visit.show(PLAIN[judge.state])
    if judge.state == "comprehension":
        return visit.show("comprehension", message="")
    if judge.state == "questionnaire":
        return visit.show("questionnaire", questions=QUESTIONS, points=POINTS)
    assignment = visit.store.next_assignment(judge, now=visit.now)
    if assignment is None:
        return show_end(visit)
    return visit.show("judging", **pair_values(visit, judge, assignment))


def show_end(visit: Visit) -> Response:
    """Show why there is no pair: all are judged, or others hold the rest."""
    judge = visit.again()
    template = PLAIN.get(judge.state, "waiting")
    return visit.show(template, judge=judge)


def pair_values(visit: Visit, judge: Judge, assignment: Assignment) -> dict[str, Any]:
    """Return what a pair needs to be shown; its form carries an id that is stored once."""
    client_id = secrets.token_urlsafe(16)
    return {"judge": judge, "assignment": assignment, "client_id": client_id, "token": visit.token}


def open_link(visit: Visit) -> Response:
    """Let a judge in by their personal link."""
    if visit.judge is None:
        raise HTTPException(404, "unknown_link")
    return visit.let_in(visit.token)


def invite(visit: Visit) -> Response:
    """Show the open link's page, which makes no judge before somebody agrees to be one."""
    if visit.judge is not None:
        return visit.go_home()
    return visit.show("welcome", external=read_external(visit.query))


def join(visit: Visit) -> Response:
    """Make a judge of whoever came by the open link."""
    if visit.judge is not None:
        return visit.go_home()
    given = {
        name.removeprefix(EXTERNAL): value
        for name, value in visit.form.items()
        if name.startswith(EXTERNAL)
    }
    token = visit.store.insert_judge(external=read_external(given), now=visit.now)
    return visit.let_in(token)


def read_external(given: Mapping[str, str]) -> dict[str, str]:
    r"""Return the ids that a recruiting service adds to a link; what is no id is left out.

    Examples
    --------
    >>> read_external({"PROLIFIC_PID": "5f1c", "a b": "1", "note": "line\nbreak"})
    {'PROLIFIC_PID': '5f1c'}
    """
    kept = {
        name: value
        for name, value in given.items()
        if PARAMETER.fullmatch(name) and VALUE.fullmatch(value)
    }
    return dict(list(kept.items())[:MOST_PARAMETERS])


def agree(visit: Visit) -> Response:
    """Record that a judge agrees to take part."""
    visit.store.record_consent(visit.known_judge, now=visit.now)
    return visit.go_home()


def decline(visit: Visit) -> Response:
    """Say goodbye to somebody who does not agree; nothing is recorded."""
    return visit.show("declined")


def answer_checks(visit: Visit) -> Response:
    """Compare the answers about the task with the study's, and say if there is another try."""
    passed = passes_checks(visit)
    if passed is None:
        return visit.show("comprehension", status=422, message="unanswered")
    left = visit.store.record_comprehension(visit.known_judge, passed=passed, now=visit.now)
    if passed or not left:
        return visit.go_home()
    return visit.show("comprehension", status=422, message="again", judge=visit.again())


def passes_checks(visit: Visit) -> bool | None:
    """Return whether all answers about the task are right; None where one is missing."""
    checks = visit.store.study.checks
    given = [visit.form.get(f"check-{place}", "") for place in range(len(checks))]
    if "" in given:
        return None
    return all(found == str(check.right) for found, check in zip(given, checks, strict=True))


def judge_pair(visit: Visit) -> Response:
    """Store a judgment; the response is sent after it is on the disk."""
    recorded = store_judgment(visit)
    if recorded.is_right is not None or recorded.note:
        return visit.show("feedback", recorded=recorded)
    return visit.tell(progress_of(visit.again())) if visit.wants_json else visit.go_home()


def store_judgment(visit: Visit) -> Receipt:
    """Read an answer and store it."""
    return visit.store.insert_judgment(
        visit.known_judge,
        assignment=read_opaque(visit.form, "assignment"),
        outcome=read_outcome(visit),
        client_id=read_opaque(visit.form, "client_id"),
        milliseconds=read_milliseconds(visit.form),
        now=visit.now,
    )


def progress_of(judge: Judge) -> dict[str, object]:
    """Return how far a judge is, for the script."""
    return {"state": judge.state, "done": judge.progress.done, "of": judge.progress.of}


def read_outcome(visit: Visit) -> Outcome:
    """Return the answer, if the study offers it."""
    given = visit.form.get("outcome", "")
    if given not in visit.store.study.outcomes_of(visit.known_judge.task):
        raise HTTPException(400, "bad_form")
    return given


def read_opaque(form: Mapping[str, str], name: str) -> str:
    """Return an id of the form that says nothing."""
    if not OPAQUE.fullmatch(form.get(name, "")):
        raise HTTPException(400, "bad_form")
    return form[name]


def read_milliseconds(form: Mapping[str, str]) -> int | None:
    """Return how long a pair was looked at; ``None`` where no script has measured it."""
    given = form.get("milliseconds", "")
    known = given.isascii() and given.isdigit() and len(given) <= len(str(LONGEST))
    return min(int(given), LONGEST) if known else None


def take_back(visit: Visit) -> Response:
    """Take back the judge's last judgment and show its pair again."""
    client_id = read_opaque(visit.form, "client_id")
    assignment = visit.store.insert_undo(visit.known_judge, client_id=client_id, now=visit.now)
    if assignment is None:
        raise HTTPException(409, "nothing_to_undo")
    if not visit.wants_json:
        return visit.go_home()
    judge = visit.again()
    pair = visit.render(PARTS[assignment.task], **pair_values(visit, judge, assignment))
    return visit.tell({**progress_of(judge), "pair": pair})


def show_ahead(visit: Visit) -> Response:
    """Send the pair after the present one, for the script to keep until it is wanted."""
    judge = visit.known_judge
    assignment = None
    if judge.state == "judging":
        present = visit.query.get("instead") == "present"
        look = visit.store.next_assignment if present else visit.store.upcoming_assignment
        assignment = look(judge, now=visit.now)
    if assignment is None:
        return Response(status_code=204)
    return visit.show(PARTS[assignment.task], **pair_values(visit, judge, assignment))


def note_event(visit: Visit) -> Response:
    """Store what the script noticed, such as a window that lost the focus."""
    if visit.form.get("kind") not in EVENTS:
        raise HTTPException(400, "bad_form")
    visit.store.insert_event(visit.known_judge, kind=visit.form["kind"], detail={}, now=visit.now)
    return Response(status_code=204)


def end_break(visit: Visit) -> Response:
    """Go on after a break."""
    visit.store.insert_event(visit.known_judge, kind="rested", detail={}, now=visit.now)
    return visit.go_home()


def answer_questionnaire(visit: Visit) -> Response:
    """Keep what a judge says of the effort; each question may be left out."""
    if visit.known_judge.state != "questionnaire":
        return visit.go_home()
    points = {str(point): point for point in POINTS}
    given = {name: points.get(visit.form.get(name, "")) for name in QUESTIONS}
    answers = {name: point for name, point in given.items() if point is not None}
    visit.store.record_survey(visit.known_judge, answers=answers, now=visit.now)
    return visit.go_home()


def show_picture(visit: Visit) -> Response:
    """Send a picture of an item, by an id that says nothing of it."""
    visit.known_judge  # noqa: B018
    picture = visit.store.select_picture(read_opaque(visit.path, "key"))
    if picture is None or picture.media_type not in IMAGES:
        raise HTTPException(404, "unknown_page")
    headers = {"content-security-policy": ITEM_POLICY, "cache-control": "private, max-age=3600"}
    return Response(picture.data, media_type=picture.media_type, headers=headers)


def show_snippet(visit: Visit) -> Response:
    """Send an HTML item for its sandboxed frame, if the judge holds its pair."""
    for look in (visit.store.next_assignment, visit.store.upcoming_assignment):
        held = look(visit.known_judge, now=visit.now)
        if held is not None and held.public_id == visit.path["assignment"]:
            return snippet_of(visit, held)
    raise HTTPException(404, "unknown_page")


def snippet_of(visit: Visit, assignment: Assignment) -> Response:
    """Return one shown column of a pair as a document of its own."""
    side, place, words = visit.path["side"], visit.path["place"], visit.place.words
    view = {"left": assignment.left, "right": assignment.right}.get(side)
    shown = dict(enumerate(view.shown if view else ()))
    column = shown.get(int(place)) if place.isascii() and place.isdigit() else None
    if column is None or column.kind != "html":
        raise HTTPException(404, "unknown_page")
    title, language = words["judging"]["frame"], words["language"]
    document = wrap_html(column.text, title=title, language=language)
    return HTMLResponse(document, headers={"content-security-policy": ITEM_POLICY})


def show_static(visit: Visit) -> Response:
    """Send the style, the script or the icon."""
    name = visit.path["name"]
    if name not in STATIC:
        raise HTTPException(404, "unknown_page")
    content = (FOLDER / "static" / name).read_bytes()
    headers = {"cache-control": "public, max-age=300"}
    return Response(content, media_type=STATIC[name], headers=headers)


PAGES = (
    Page(path="/", method="GET", handle=show_turn, guests=True),
    Page(path="/j/{token}", method="GET", handle=open_link, guests=True),
    Page(path="/join", method="GET", handle=invite, guests=True),
    Page(path="/join", method="POST", handle=join, guests=True, limit="join"),
    Page(path="/consent", method="POST", handle=agree, limit="judge"),
    Page(path="/declined", method="GET", handle=decline, guests=True),
    Page(path="/comprehension", method="POST", handle=answer_checks, limit="judge"),
    Page(path="/judgment", method="POST", handle=judge_pair, limit="judge"),
    Page(path="/undo", method="POST", handle=take_back, limit="judge"),
    Page(path="/event", method="POST", handle=note_event, limit="judge"),
    Page(path="/questionnaire", method="POST", handle=answer_questionnaire, limit="judge"),
    Page(path="/break", method="POST", handle=end_break, limit="judge"),
    Page(path="/ahead", method="GET", handle=show_ahead),
    Page(path="/picture/{key}", method="GET", handle=show_picture),
    Page(path="/item/{assignment}/{side}/{place}", method="GET", handle=show_snippet),
    Page(path="/static/{name}", method="GET", handle=show_static, guests=True, asks_who=False),
)
