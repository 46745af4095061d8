"""A setting that is misspelt or out of range must not silently be another search."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasette_oaken.db import OakenError
from datasette_oaken.settings import SearchSettings, load


def test_without_a_file_the_defaults_are_the_documented_ones(tmp_path: Path) -> None:
    search = load(None, tmp_path / "oaken.db").search
    assert search == SearchSettings(
        rrf_k=60,
        keyword_weight=1.0,
        vector_weight=1.0,
        exact_boost=3.0,
        keyword_min_match=0.5,
        overfetch=5,
        max_candidates=500,
        vector_timeout_seconds=10.0,
        llm_rewrite=False,
    )


def test_the_file_beside_the_database_is_read_and_other_sections_are_kept(tmp_path: Path) -> None:
    (tmp_path / "oaken.toml").write_text("[search]\nrrf_k = 10\nvector_weight = 2\n[sync]\nevery = 5\n")
    settings = load(None, tmp_path / "oaken.db")
    assert settings.search == SearchSettings(rrf_k=10, vector_weight=2.0)
    assert settings.other == {"sync": {"every": 5}}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[search]\nrfr_k = 3\n", "no setting 'rfr_k'"),
        ("[search]\nrrf_k = 0\n", "at least 1"),
        ("[search]\nrrf_k = 1.5\n", "whole number"),
        ("[search]\nrrf_k = inf\n", "a whole number"),
        ("[search]\nkeyword_weight = nan\n", "at least 0"),
        ("[search]\nkeyword_min_match = 2\n", "between 0 and 1"),
        ("[search]\nllm_rewrite = 1\n", "true or false"),
        ("[search]\nexact_boost = '3'\n", "a number"),
        ("[search]\ncategories = []\n", "a list of words"),
        ("[search\n", "could not be read"),
        ("search = 3\n", "must be a section"),
        ("[judge]\nworker = 2\n", "[judge] has no setting 'worker'"),
        ("[judge]\nworkers = 0\n", "at least 1"),
        ("[judge]\napi_base = 8080\n", "[judge] api_base must be the address of a server"),
    ],
)
def test_a_bad_setting_is_named_and_not_guessed(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "oaken.toml"
    path.write_text(text)
    with pytest.raises(OakenError) as caught:
        load(path, None)
    assert caught.value.code == "bad_config"
    assert part in str(caught.value)


def test_a_named_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OakenError, match="no configuration file"):
        load(tmp_path / "none.toml", None)
