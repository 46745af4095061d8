"""The one search: its answer, its pages, what it does when the vector side is down, and that it never writes."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasette.utils.sqlite import sqlite3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_mail import DIMENSION, add, archive, embedded, found, give_vectors

from datasette_oaken import db, rows, search, vector
from datasette_oaken.db import OakenError
from datasette_oaken.embedders import Embedded
from datasette_oaken.settings import SearchSettings

WORDS = "ant bee cat dog elk fox gnu hen".split()


def point(*values: float) -> np.ndarray:
    """A vector in the plane of the first two dimensions."""
    return np.array([*values, *[0.0] * (DIMENSION - len(values))], np.float32)


def random_mail(size: int, seed: int = 1) -> tuple[list[dict[str, Any]], dict[int, np.ndarray]]:
    """Messages of one to three chunks, and a random vector for each chunk."""
    rng = random.Random(seed)
    messages = [
        {
            "text": [f"{i} {part} " + " ".join(rng.choices(WORDS, k=6)) for part in range(rng.randrange(1, 4))],
            "subject": rng.choice(WORDS),
            "sender": (rng.choice(["Ada", "Ben", "Cleo"]), "a@example.org"),
            "date": f"2024-01-{rng.randrange(1, 29):02}T00:00:00Z",
        }
        for i in range(size)
    ]
    chunks = sum(len(message["text"]) for message in messages)
    noise = np.random.default_rng(seed).normal(size=(chunks, DIMENSION)).astype(np.float32)
    return messages, dict(enumerate(noise, 1))


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    messages, vectors = random_mail(150)
    conn = archive(tmp_path_factory.mktemp("search"), messages)
    give_vectors(conn, vectors)
    return conn


QUERY = embedded(point(1.0, 0.3))


def test_the_answer_is_exactly_the_designs(tmp_path: Path) -> None:
    conn = archive(tmp_path)
    person, state = ("Ada Finch", "ada@example.org"), {"is_read": 1}
    add(
        conn, ["The key is under the mat.", "Bye"], subject="Keys", sender=person, thread=7, labels=["Home", "Été"],
        mailboxes=["INBOX", "All"], state=state,
    )  # fmt: skip
    give_vectors(conn, {1: point(1.0), 2: point(0.0, 1.0)})
    answer = search.search(conn, "Key -cat from:ada priority:9", embedded=embedded(point(1.0)))
    assert set(answer.pop("timings_ms")) == {"keyword", "embed", "vector", "total"}
    first = pytest.approx(1 / 61)
    assert answer == {
        "ok": True,
        "query": {
            "words": ["Key"],
            "phrases": [],
            "excluded": ["cat"],
            "filters": [{"field": "from", "value": "ada", "negated": False}],
        },
        "mode": "hybrid",
        "warnings": ["priority:9 could not be read (priority: takes 0 to 3); it filters nothing."],
        "degraded": False,
        "degraded_reason": None,
        "coverage": 1.0,
        "returned": 1,
        "limit": 10,
        "truncated": False,
        "next": None,
        "hits": [
            {
                "message_id": 1,
                "thread_id": 7,
                "chunk_id": 1,
                "score": pytest.approx(2 / 61),
                "snippet": "The [[key]] is under the mat.",
                "why": {
                    "keyword": {"rank": 1, "weight": 1.0, "contribution": first},
                    "vector": {"rank": 1, "weight": 1.0, "contribution": first},
                },
                "matched_chunks": [1, 2],
                "internet_message_id": "<key-1@example.org>",
                "subject": "Keys",
                "from": {"name": "Ada Finch", "address": "ada@example.org"},
                "date": "2024-01-01T00:00:00Z",
                "account": "me",
                "mailboxes": ["All", "INBOX"],
                "labels": ["Home", "Été"],
                "is_read": True,
                "url": "/-/oaken/message/1",
                "also_in": [],
                "also_in_count": 0,
                "in_thread": [],
            }
        ],
    }


@pytest.mark.parametrize(
    ("asked", "mode"),
    [
        *(("hybrid", "hybrid"), ("keyword", "keyword"), ("fts", "keyword"), ("bm25", "keyword"), ("vector", "vector")),
        *(("semantic", "vector"), (" Semantic ", "vector")),
    ],
)
def test_modes_by_all_their_names(mail: sqlite3.Connection, asked: str, mode: str) -> None:
    answer = search.search(mail, "ant", mode=asked, embedded=QUERY)
    assert answer["mode"] == mode
    used = {name for hit in answer["hits"] for name in hit["why"]}
    assert used == ({"keyword", "vector"} if mode == "hybrid" else {mode})


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"mode": "psychic"}, "bad_mode"),
        ({"limit": 0}, "bad_limit"),
        ({"collapse": "sender"}, "bad_collapse"),
        ({"next": "nonsense"}, "bad_next"),
        ({"next": "…"}, "bad_next"),
        ({"next": "W10"}, "bad_next"),
        ({"next": "bnVsbA"}, "bad_next"),
    ],
)
def test_what_cannot_be_asked_is_an_error_with_a_code(mail: sqlite3.Connection, options: Any, code: str) -> None:
    with pytest.raises(OakenError) as raised:
        search.search(mail, "ant", **options)
    assert raised.value.code == code


def test_a_page_of_another_search_is_refused(mail: sqlite3.Connection) -> None:
    token = search.search(mail, "ant", mode="keyword")["next"]
    for query, mode in (("bee", "keyword"), ("ant", "hybrid"), ("ant from:ada", "keyword")):
        with pytest.raises(OakenError, match="another search"):
            search.search(mail, query, mode=mode, next=token)


@pytest.mark.parametrize("query", ["ant", "ant bee cat", '"ant bee"', "", "from:ada", "-ant", "ant -bee from:ben"])
@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
@pytest.mark.parametrize("limit", [1, 7])
def test_paging_to_the_end_neither_repeats_nor_skips(
    mail: sqlite3.Connection, query: str, mode: str, limit: int
) -> None:
    options = {"mode": mode, "embedded": QUERY}
    whole = search.search(mail, query, limit=10_000, **options)
    assert (whole["truncated"], whole["next"]) == (False, None)
    paged, token = [], None
    while True:
        page = search.search(mail, query, limit=limit, next=token, **options)
        assert page["returned"] == len(page["hits"]) <= limit
        assert page["truncated"] == (page["next"] is not None)
        paged += page["hits"]
        token = page["next"]
        if token is None:
            break
    assert paged == whole["hits"]
    seen = [hit["message_id"] for hit in paged]
    assert len(seen) == len(set(seen))


def test_mail_that_arrives_between_pages_moves_nothing(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": f"the key {i}", "date": f"2024-01-0{i}T00:00:00Z"} for i in range(1, 7)])
    for query in ("key", ""):
        options = {"mode": "keyword", "limit": 4}
        first = search.search(conn, query, **options)
        add(conn, "the key, newer than all and only about the key", subject="key", date="2024-02-01T00:00:00Z")
        second = search.search(conn, query, next=first["next"], **options)
        ids = [hit["message_id"] for page in (first, second) for hit in page["hits"]]
        expected = conn.execute("select count(*) from messages").fetchone()[0] - 1
        assert (sorted(ids), second["next"]) == (list(range(1, expected + 1)), None)


def test_the_depth_of_the_fusion_does_not_depend_on_the_page(mail: sqlite3.Connection) -> None:
    shallow = SearchSettings(max_candidates=20)
    whole = search.search(mail, "ant bee", limit=1000, settings=shallow, embedded=QUERY)
    assert whole["returned"] == 20
    top = search.search(mail, "ant bee", limit=5, settings=shallow, embedded=QUERY)["hits"]
    assert top == whole["hits"][:5]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (None, "no_embedder"),
        (Embedded(None, None, "no_embedder", 0.1), "no_embedder"),
        (Embedded(None, None, "timeout", 10_000.0), "timeout"),
        (Embedded(None, None, "error", 1.0), "error"),
        (embedded(point(1.0), fingerprint="another model's"), "stale_index"),
    ],
)
def test_without_a_usable_vector_the_keywords_answer_and_it_is_said(
    mail: sqlite3.Connection, given: Embedded | None, reason: str
) -> None:
    keywords = search.search(mail, "ant", mode="keyword")
    assert (keywords["degraded"], keywords["degraded_reason"]) == (False, None)
    answer = search.search(mail, "ant", embedded=given)
    assert (answer["degraded"], answer["degraded_reason"]) == (True, reason)
    assert answer["hits"] == keywords["hits"]
    alone = search.search(mail, "ant", mode="vector", embedded=given)
    assert (alone["degraded"], alone["degraded_reason"], alone["hits"]) == (True, reason, keywords["hits"])


def test_no_vectors_no_extension_and_a_lost_table_degrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages, vectors = random_mail(5)
    conn = archive(tmp_path, messages)

    def reason() -> tuple[bool, str | None, int]:
        answer = search.search(conn, "ant bee cat dog", embedded=QUERY)
        return answer["degraded"], answer["degraded_reason"], len({n for h in answer["hits"] for n in h["why"]})

    assert reason() == (True, "no_vectors", 1)
    give_vectors(conn, vectors)
    assert reason() == (False, None, 2)
    with monkeypatch.context() as patch:
        patch.setattr(vector, "has_vec", lambda conn: False)
        assert reason() == (True, "no_extension", 1)
    (generation,) = vector.generations(conn)
    conn.execute(f"drop table [{generation.vec0}]")
    assert reason() == (True, "no_vectors", 1)


def test_a_vector_side_that_breaks_in_an_unforeseen_way_degrades(
    mail: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **options: Any) -> list[tuple[int, float]]:
        raise RuntimeError("no one thought of this")

    monkeypatch.setattr(vector, "nearest", broken)
    answer = search.search(mail, "ant", embedded=QUERY)
    assert (answer["degraded_reason"], answer["hits"]) == ("error", search.search(mail, "ant", mode="keyword")["hits"])


def test_a_degraded_page_is_followed_by_pages_of_the_same_fusion(mail: sqlite3.Connection) -> None:
    first = search.search(mail, "ant", embedded=None, limit=5)
    second = search.search(mail, "ant", embedded=QUERY, limit=5, next=first["next"])
    assert second["degraded_reason"] == "no_embedder"
    keywords = search.search(mail, "ant", mode="keyword", limit=10)["hits"]
    assert first["hits"] + second["hits"] == keywords


def test_partial_coverage_is_stated_and_is_not_degraded(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": "ant"}, {"text": "bee"}, {"text": "cat"}, {"text": "dog"}])
    give_vectors(conn, {2: point(1.0)})
    answer = search.search(conn, "ant", embedded=QUERY)
    assert (answer["coverage"], answer["degraded"]) == (0.25, False)
    assert {hit["message_id"] for hit in answer["hits"]} == {1, 2}


def test_the_few_that_are_embedded_do_not_push_aside_better_ones_that_are_not_yet(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": "the boiler, the boiler"}, {"text": "a boiler once"}, *[{"text": "other"}] * 8])
    give_vectors(conn, {2: point(1.0, 0.1), 3: point(1.0)})
    answer = search.search(conn, "boiler", embedded=embedded(point(1.0)))
    assert [hit["message_id"] for hit in answer["hits"]] == [2, 1, 3]
    assert answer["hits"][2]["why"] == {
        "vector": {"rank": 1, "weight": pytest.approx(0.2), "contribution": pytest.approx(0.2 / 61)}
    }


def test_filters_alone_list_the_newest_and_need_no_vectors(tmp_path: Path) -> None:
    dates = ["2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z", None, "2024-01-03T00:00:00Z"]
    conn = archive(tmp_path, [{"text": "ant " + "x" * 300, "date": date, "subject": "s"} for date in dates])
    for query in ("", "subject:s", "-bee", '""'):
        answer = search.search(conn, query, embedded=None)
        assert [hit["message_id"] for hit in answer["hits"]] == [4, 2, 1, 3]
        assert (answer["degraded"], answer["truncated"]) == (False, False)
    hit = answer["hits"][0]
    assert (hit["score"], hit["why"], hit["matched_chunks"], hit["chunk_id"]) == (0.0, {}, [], 4)
    assert hit["snippet"].startswith("ant xxx")


def test_a_message_without_chunks_is_still_listed(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": "ant", "subject": "Empty"}])
    rows.delete_chunks(conn, [1])
    (hit,) = search.search(conn, "subject:empty")["hits"]
    assert (hit["chunk_id"], hit["snippet"]) == (None, "")


def test_a_quoted_phrase_or_a_digit_multiplies_the_keyword_weight(mail: sqlite3.Connection) -> None:
    for query, weight in (("ant", 2.0), ('"ant"', 8.0), ("ant 17", 8.0), ("ant from:a1", 2.0)):
        options = SearchSettings(keyword_weight=2.0, exact_boost=4.0)
        hits = search.search(mail, query, mode="keyword", settings=options)["hits"]
        assert {hit["why"]["keyword"]["weight"] for hit in hits} <= {weight}


@pytest.mark.parametrize("limit", [5, 50])
def test_a_rare_senders_messages_are_found_however_many_others_are_nearer(tmp_path: Path, limit: int) -> None:
    messages, vectors = random_mail(400, seed=2)
    for i in (50, 150, 250, 350):
        messages[i]["sender"] = ("Rare Bird", "rare@example.org")
    conn = archive(tmp_path, messages)
    give_vectors(conn, vectors)
    few = SearchSettings(max_candidates=limit)
    answer = search.search(conn, "ant from:rare", mode="vector", embedded=QUERY, settings=few, limit=limit)
    of = dict(conn.execute("select id, message_id from recall_chunks").fetchall())
    near = sorted(
        (1 - float(v @ QUERY.vector / np.linalg.norm(v) / np.linalg.norm(QUERY.vector)), of[chunk])
        for chunk, v in vectors.items()
        if of[chunk] in (51, 151, 251, 351)
    )
    assert [hit["message_id"] for hit in answer["hits"]] == list(dict.fromkeys(id for _, id in near))
    hybrid = search.search(conn, "ant from:rare", embedded=QUERY, settings=few, limit=limit)
    assert {hit["message_id"] for hit in hybrid["hits"]} == {51, 151, 251, 351}


def test_exclusions_hold_for_meaning_too_over_the_whole_message(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": ["ant", "a red kite"]}, {"text": "ant, again"}, {"text": "ant kites"}])
    give_vectors(conn, {n: point(1.0, n / 10) for n in range(1, 5)})
    for query, left in (("ant -kite", [2]), ('ant -"red kite"', [2, 3]), ("ant -kites -again", [])):
        for mode in ("vector", "hybrid", "keyword"):
            answer = search.search(conn, query, mode=mode, embedded=QUERY)
            assert sorted(hit["message_id"] for hit in answer["hits"]) == left, (query, mode)


def test_exclusions_do_not_cost_hits_of_the_vector_side(tmp_path: Path) -> None:
    conn = archive(tmp_path, [{"text": f"{'bad' if n < 60 else 'good'} {n}"} for n in range(100)])
    give_vectors(conn, {n + 1: point(1.0, n / 100) for n in range(100)})
    answer = search.search(
        conn,
        "any -bad",
        mode="vector",
        embedded=embedded(point(1.0)),
        settings=SearchSettings(max_candidates=20),
        limit=20,
    )
    assert [hit["message_id"] for hit in answer["hits"]] == list(range(61, 81))


def test_a_saying_is_shown_once_and_a_copy_where_its_original_may_not_be(tmp_path: Path) -> None:
    long = "The bridge by the mill is closed until the end of the month."
    conn = archive(tmp_path)
    add(conn, long, account="me", date="2024-01-02T00:00:00Z")
    add(conn, long, account="you", copy_of=1, date="2024-01-03T00:00:00Z")
    add(conn, long, account="them", copy_of=1, date="2024-01-04T00:00:00Z")
    give_vectors(conn, {n: point(1.0) for n in (1, 2, 3)})
    for query in ("bridge", "", "-cat"):
        assert found(conn, query) == [1]
        assert found(conn, query, mode="hybrid", embedded=QUERY) == [1]
        assert found(conn, query + " -account:me") == [2]
        assert found(conn, query + " account:them") == [3]
        assert found(conn, query, accounts=["you"]) == [2]


def test_the_same_paragraph_is_one_hit_with_its_other_holders_beside_it(tmp_path: Path) -> None:
    said = "The bridge by the mill is closed until the end of the month."
    conn = archive(tmp_path)
    for day in (3, 1, 2, 4):
        add(conn, said, date=f"2024-01-0{day}T00:00:00Z", account="you" if day == 4 else "me")
    add(conn, ["Another bridge, another mill.", said], date="2024-01-05T00:00:00Z")
    give_vectors(conn, {n: point(1.0, n / 10) for n in range(1, 7)})
    for mode in ("keyword", "vector", "hybrid"):
        hits = search.search(conn, "bridge mill", mode=mode, embedded=QUERY)["hits"]
        assert {hit["message_id"]: (hit["also_in"], hit["also_in_count"]) for hit in hits} == {
            2: ([3, 1, 4, 5], 4),
            5: ([], 0),
        }
    mine = search.search(conn, "bridge mill", mode="keyword", accounts=["me"])["hits"]
    assert {hit["message_id"]: hit["also_in"] for hit in mine} == {2: [3, 1, 5], 5: []}


def test_a_bill_is_found_by_its_subject_among_bills_with_the_same_words(tmp_path: Path) -> None:
    text = "Your bill is attached. Please pay it within a fortnight."
    conn = archive(tmp_path)
    for n, month in enumerate(["March", "April", "May"], 1):
        add(conn, text, subject=f"Bill for {month}", date=f"2024-0{n}-01T00:00:00Z")
    assert found(conn, "bill april") == [2]
    assert found(conn, "bill") == [1]


def test_one_hit_a_conversation_with_its_other_hits_beside_it(tmp_path: Path) -> None:
    conn = archive(tmp_path)
    for day, (thread, text) in enumerate(
        [(1, "key"), (1, "key key"), (2, "a key to it"), (None, "key"), (None, "key"), (1, "no")], 1
    ):
        add(conn, text, thread=thread, date=f"2024-01-0{day}T00:00:00Z", subject=f"n{day}")
    for query, expected in (("key", {2: [1], 3: [], 4: [], 5: []}), ("", {6: [2, 1], 5: [], 4: [], 3: []})):
        answer = search.search(conn, query, mode="keyword", collapse="thread")
        assert {hit["message_id"]: hit["in_thread"] for hit in answer["hits"]} == expected
        pages, token = [], None
        while True:
            page = search.search(conn, query, mode="keyword", collapse="thread", limit=1, next=token)
            pages += page["hits"]
            token = page["next"]
            if token is None:
                break
        assert pages == answer["hits"]


@given(
    text=st.one_of(
        st.text(), st.lists(st.sampled_from([*WORDS, '"', "-", "from:", "after:7d", " ", "ab.c1", "会議"])).map("".join)
    )
)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_string_at_all_gives_an_answer(mail: sqlite3.Connection, text: str) -> None:
    for mode in ("hybrid", "keyword"):
        answer = search.search(mail, text, mode=mode, embedded=QUERY)
        assert answer["ok"] and answer["returned"] == len(answer["hits"])


def test_no_search_writes_anything(tmp_path: Path) -> None:
    messages, vectors = random_mail(20)
    conn = archive(tmp_path, messages)
    give_vectors(conn, vectors)
    conn.close()

    def contents() -> str:
        """A hash of every row of every table, vec0's and FTS5's own included."""
        with sqlite3.connect(tmp_path / "small.db") as reader:
            db.load_vec(reader)
            tables = [
                row[0] for row in reader.execute("select name from sqlite_master where type = 'table' order by 1")
            ]
            lines = [repr(row) for table in tables for row in reader.execute(f"select * from [{table}]")]
        assert len(lines) > 200
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    before = contents()
    conn = db.connect(tmp_path / "small.db")
    changes = conn.total_changes
    for query in ("ant", "ant bee cat", '"ant"', "", "is:unread", "-ant", "nothing", "1.0", "会議"):
        for mode in ("hybrid", "keyword", "vector"):
            first = search.search(conn, query, mode=mode, embedded=QUERY, limit=3)
            if first["next"]:
                search.search(conn, query, mode=mode, embedded=QUERY, limit=3, next=first["next"])
    assert conn.total_changes == changes
    conn.close()
    readonly = db.connect(tmp_path / "small.db", readonly=True)
    assert search.search(readonly, "ant", embedded=QUERY)["returned"] > 0
    readonly.close()
    assert contents() == before
