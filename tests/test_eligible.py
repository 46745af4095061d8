"""What a question is asked of: exactly its scope, each saying once, kept up as mail comes, changes and goes."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import eml_folder, ingest, mail, rows
from small_mail import add, archive

from datasette_oaken import db, eligible, filters, questions, scope
from datasette_oaken.changes import changes


def ask(conn: db.sqlite3.Connection, question: str = "Is it?", **options: Any) -> int:
    with db.transaction(conn):
        return questions.ask(conn, question, **options)


def asked_of(conn: db.sqlite3.Connection, question_id: int) -> list[tuple[object, ...]]:
    return rows(
        conn, "select message_id, copies from recall_eligible where question_id = ? order by message_id", question_id
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("weekend", "words to search for"),
        ('from:sam "the agreement"', "words to search for"),
        ("-draft", "words to search for"),
        ("is:unread", "whether a message is read"),
        ("from:sam -is:read", "whether a message is read"),
        ("priority:9", "could not be read"),
        ("category:nope", "could not be read"),
        ("after:", "could not be read"),
        ("before:yesteryear", "could not be read"),
    ],
)
def test_a_scope_that_would_make_the_count_depend_on_a_phrasing_is_refused(text: str, why: str, tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": "Hello"}])
    with pytest.raises(db.OakenError, match=why) as caught:
        ask(conn, scope=text)
    assert caught.value.code == "bad_scope"
    assert rows(conn, "select count(*) from recall_questions") == [(0,)]


def test_a_scope_is_kept_with_its_dates_made_absolute() -> None:
    kept, found = scope.read_scope("after:7d From:School", today=date(2024, 3, 8))
    assert kept == "after:2024-03-01 from:School"
    assert scope.filters_of(kept) == found


def test_a_category_that_is_no_longer_configured_still_filters() -> None:
    kept, found = scope.read_scope("category:allotment", categories=["allotment"])
    assert scope.filters_of(kept) == found != ()


def test_a_saying_that_was_delivered_twice_is_asked_of_once(tmp_path: Path) -> None:
    conn = archive(
        tmp_path,
        [{"text": "a"}, {"text": "a", "copy_of": 1}, {"text": "b"}, {"text": "a", "copy_of": 1, "account": "work"}],
    )
    everything = ask(conn, "All?")
    at_work = ask(conn, "Work?", scope="account:work")
    assert asked_of(conn, everything) == [(1, 2), (3, 0)]
    assert asked_of(conn, at_work) == [(4, 0)], "where the original is out of the scope, its copy stands for it"


def test_mail_that_comes_in_is_eligible_at_once_and_the_count_says_why_it_changed(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "in", {"1.eml": mail("One.")})
    conn, _ = ingest(tmp_path / "a.db", folder)
    everything = ask(conn, "All?")
    from_kim = ask(conn, "Kim?", scope="from:kim")
    eml_folder(
        tmp_path / "in",
        {
            "2.eml": mail("Two.", id="<2@example.org>", sender="Kim <kim@example.org>"),
            "3.eml": mail("Two.", id="<2@example.org>", sender="Kim <kim@example.org>", headers=["Received: from b"]),
        },
    )
    ingest(tmp_path / "a.db", folder)
    assert asked_of(conn, everything) == [(1, 0), (2, 1)]
    assert asked_of(conn, from_kim) == [(2, 1)]
    assert [change["detail"] for change in changes(conn, everything)] == ["1 message came in."]


def test_labels_that_come_later_bring_a_message_into_a_scope(tmp_path: Path) -> None:
    folder = eml_folder(tmp_path / "in", {"1.eml": mail("One."), "2.eml": mail("Two.", id="<2@example.org>")})
    conn, _ = ingest(tmp_path / "a.db", folder)
    labelled = ask(conn, scope="label:court")
    assert asked_of(conn, labelled) == []
    again = eml_folder(tmp_path / "again", {"1.eml": mail("One.", headers=["X-Gmail-Labels: court"])})
    ingest(tmp_path / "a.db", again)
    assert asked_of(conn, labelled) == [(1, 0)]


def test_the_order_of_the_sample_is_fixed_for_a_question_and_unlike_anothers(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": str(n)} for n in range(30)])
    first, second = ask(conn, "First?"), ask(conn, "Second?")

    def order(question: int) -> list[tuple[object, ...]]:
        return rows(conn, "select message_id from recall_eligible where question_id = ? order by lot", question)

    before = order(first)
    assert before != order(second) and sorted(before) == sorted(order(second))
    with db.transaction(conn):
        conn.execute("delete from recall_eligible where question_id = ?", (first,))
        eligible.refresh(conn, first)
    assert order(first) == before


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["ada", "ben", "kim"]), st.integers(0, 5), st.sampled_from(["me", "work"])),
        min_size=1,
        max_size=9,
    )
)
def test_keeping_up_bit_by_bit_comes_to_the_same_as_starting_anew(
    tmp_path_factory: pytest.TempPathFactory, mails: list[Any]
) -> None:
    conn = db.connect(tmp_path_factory.mktemp("bits") / "a.db", create=True)
    scopes = ["", "from:ada", "account:work", "-from:ben"]
    with db.transaction(conn):
        ids = [questions.ask(conn, f"Question {n}?", scope=text) for n, text in enumerate(scopes)]
        originals: list[int] = []
        for sender, of, account in mails:
            copy_of = originals[of] if of < len(originals) else None
            id_ = add(conn, "x", sender=(sender, f"{sender}@example.org"), account=account, copy_of=copy_of)
            if copy_of is None:
                originals.append(id_)
            eligible.refresh(conn, message_ids=[id_])
        kept = [asked_of(conn, id_) for id_ in ids]
        conn.execute("delete from recall_eligible")
        eligible.refresh(conn)
        assert kept == [asked_of(conn, id_) for id_ in ids]
    for id_, text in zip(ids, scopes, strict=True):
        condition, values = filters.condition(scope.filters_of(text)) or ("1", [])
        inside = {
            row[0]: row[1] for row in conn.execute(f"select id, copy_of from messages m where {condition}", values)
        }
        sayings = {copy_of or message for message, copy_of in inside.items()}
        found = asked_of(conn, id_)
        assert len(found) == len(sayings)
        assert sum(1 + copies for _, copies in found) == len(inside)  # type: ignore[misc, operator]
    conn.close()
