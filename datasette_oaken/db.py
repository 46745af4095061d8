"""Opening the file: one SQLite library a process (the one Datasette uses), the pragmas, the extension, the migrations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from datasette.utils.sqlite import sqlite3

from . import schema

OLDEST_SQLITE = (3, 40, 0)

# Han with its extensions and compatibility forms, kana, hangul: the scripts whose words unicode61 cannot tell apart.
CJK = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
_CJK_RUN = re.compile(f"[{CJK}]+")
_WORD = re.compile(f"[^\\W_{CJK}]+")
_WORD_END = re.compile(f"(?<![^\\W_{CJK}])[^\\W_{CJK}]+$")
_TOUCHING = 64  # characters of such a word, so that no text takes more than time in proportion to its length


class OakenError(Exception):
    """Something a person can act on. ``code`` is a stable word for programs; the text says what to do next."""

    def __init__(self, message: str, code: str = "error") -> None:
        super().__init__(message)
        self.code = code


def bigrams(text: str) -> str:
    """Neighbouring pairs of Chinese, Japanese and Korean characters in ``text``, space-separated; '' if there are none.

    A lone character between other scripts stands by itself, and so does a word that such characters touch (``Zoom会議``).
    """
    tokens: list[str] = []
    for run in _CJK_RUN.finditer(text):
        if touching := _WORD_END.search(text, max(0, run.start() - _TOUCHING), run.start()):
            tokens.append(touching[0])
        tokens += [run[0][i : i + 2] for i in range(max(1, len(run[0]) - 1))]
        if touching := _WORD.match(text, run.end(), run.end() + _TOUCHING):
            tokens.append(touching[0])
    return " ".join(tokens)


def load_vec(conn: sqlite3.Connection) -> str | None:
    """Load sqlite-vec into ``conn``, leaving extension loading off. Returns None, or why it could not be loaded."""
    if not hasattr(conn, "enable_load_extension"):
        return "this Python's SQLite was built without loadable extensions; install the package pysqlite3"
    try:
        import sqlite_vec
    except ImportError:
        return "the package sqlite-vec is not installed"
    try:
        conn.enable_load_extension(True)
    except sqlite3.Error as error:
        return f"this SQLite does not load extensions ({error}); install the package pysqlite3"
    try:
        sqlite_vec.load(conn)
    except sqlite3.Error as error:
        return f"sqlite-vec did not load: {error}"
    finally:
        conn.enable_load_extension(False)
    return None


def has_vec(conn: sqlite3.Connection) -> bool:
    """Whether vec0 tables can be used on this connection."""
    try:
        conn.execute("select vec_version()")
    except sqlite3.Error:
        return False
    return True


def register_functions(conn: sqlite3.Connection) -> None:
    """The SQL functions that the schema's own upkeep uses."""
    conn.create_function("oaken_bigrams", 1, lambda text: bigrams(text or ""), deterministic=True)


def is_oaken(conn: sqlite3.Connection) -> bool:
    """Whether the database behind ``conn`` is one of ours, by the application id in its header."""
    return bool(conn.execute("pragma application_id").fetchone()[0] == schema.APPLICATION_ID)


def default_path() -> Path:
    """``$OAKEN_DB``, or ``oaken.db`` here."""
    return Path(os.environ.get("OAKEN_DB") or "oaken.db")


def connect(path: str | os.PathLike[str], *, create: bool = False, readonly: bool = False) -> sqlite3.Connection:
    """Open an Oaken file, bringing an older one up to date; with ``create``, make it (mode 0600) where there is none.

    Rows come back as ``sqlite3.Row``. Transactions are explicit: the connection is in autocommit mode, see ``transaction``.

    Raises OakenError: no_database, not_a_database, not_oaken, newer_file, database_locked, cannot_create, old_sqlite.
    """
    path = Path(path)
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise OakenError(
            f"SQLite {sqlite3.sqlite_version} is too old: Oaken needs 3.40 or newer. Install the package pysqlite3.",
            "old_sqlite",
        )
    if path.is_dir():
        raise OakenError(f"{path} is a folder, not a database: name a file with --db.", "not_a_database")
    if not path.exists():
        if not create or readonly:
            raise OakenError(
                f"There is no database at {path}. Make one with: oaken ingest PATH_TO_MAIL --db {path}", "no_database"
            )
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except OSError as error:
            raise OakenError(f"Cannot create {path}: {error.strerror}.", "cannot_create") from error
    uri = f"{path.resolve().as_uri()}?mode={'ro' if readonly else 'rw'}"
    try:
        conn = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10.0, check_same_thread=False)
    except sqlite3.OperationalError as error:
        raise OakenError(
            f"Cannot open {path}: {error}. Check its permissions and its folder's.", "cannot_open"
        ) from error
    conn.row_factory = sqlite3.Row
    try:
        _prepare(conn, path, readonly=readonly)
    except BaseException as error:
        conn.close()
        raise _explained(error, path) from error
    return conn


def _prepare(conn: sqlite3.Connection, path: Path, *, readonly: bool) -> None:
    version = conn.execute("pragma user_version").fetchone()[0]
    empty = conn.execute("select count(*) from sqlite_master").fetchone()[0] == 0
    if not empty and not is_oaken(conn):
        raise OakenError(
            f"{path} is a SQLite database, but not one of Oaken's; it was not touched. Name another file with --db.",
            "not_oaken",
        )
    if version > schema.VERSION:
        raise OakenError(
            f"{path} was written by a newer Oaken (schema {version}, this one knows {schema.VERSION}); it was not touched. "
            "Upgrade with: pip install --upgrade datasette-oaken",
            "newer_file",
        )
    if empty and readonly:
        raise OakenError(f"{path} is empty. Fill it with: oaken ingest PATH_TO_MAIL --db {path}", "no_database")
    if readonly and version < schema.VERSION:
        _bring_up_to_date(path)
    conn.execute("pragma foreign_keys = on")
    conn.execute("pragma secure_delete = on")
    conn.execute("pragma cache_size = -32768")
    register_functions(conn)
    load_vec(conn)
    if readonly:
        return
    if empty:
        conn.execute("pragma auto_vacuum = incremental")  # only takes before the first table
    conn.execute("pragma journal_mode = wal")
    conn.execute("pragma synchronous = normal")
    while version < schema.VERSION:
        with transaction(conn):
            # Asked again inside the transaction: another process may have been quicker.
            version = conn.execute("pragma user_version").fetchone()[0]
            if version < schema.VERSION:
                for statement in statements(schema.MIGRATIONS[version]):
                    conn.execute(statement)
                version += 1
                conn.execute(f"pragma application_id = {schema.APPLICATION_ID}")
                conn.execute(f"pragma user_version = {version}")


def _bring_up_to_date(path: Path) -> None:
    """A file of an earlier version is about to be read: what reads it expects today's tables."""
    try:
        connect(path).close()
    except OakenError as error:
        raise OakenError(
            f"{path} was written by an older Oaken and cannot be brought up to date here: {error}", "older_file"
        ) from error


def statements(script: str) -> Iterator[str]:
    """The statements of an SQL script, one by one: executescript would commit the transaction around it."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending


@contextmanager
def transaction(conn: sqlite3.Connection) -> Iterator[None]:
    """One write transaction, taken at once (``begin immediate``) so that waiting happens here and not midway."""
    conn.execute("begin immediate")
    try:
        yield
        conn.execute("commit")
    except BaseException:
        if conn.in_transaction:
            conn.execute("rollback")
        raise


def _explained(error: BaseException, path: Path) -> BaseException:
    return explain(error, path) or error


def explain(error: BaseException, path: str | os.PathLike[str]) -> OakenError | None:
    """What an SQLite or operating-system error means for the person, or None when it is not one of these."""
    text = str(error)
    if isinstance(error, sqlite3.DatabaseError):
        if "not a database" in text:
            return OakenError(
                f"{path} is not a SQLite database; it was not touched. Name another with --db.", "not_a_database"
            )
        if "locked" in text or "busy" in text:
            return OakenError(
                f"Another process is writing to {path}. Wait until it is done, or stop it, and run this again.",
                "database_locked",
            )
        if "disk is full" in text:
            return OakenError(
                f"The disk that holds {path} is full. What was committed is safe: make room and run this again.",
                "disk_full",
            )
        if "readonly" in text:
            return OakenError(f"{path} cannot be written: check its permissions and its folder's.", "read_only")
        if "no such table" in text:
            return OakenError(
                f"A table of {path} is gone ({text}). Make it again with: oaken repair --all --db {path}", "damaged"
            )
        if "malformed" in text:
            return OakenError(
                f"{path} is damaged ({text}). Keep a copy of it, then run: oaken doctor --db {path}", "damaged"
            )
        if "disk I/O error" in text:
            return OakenError(
                f"The disk that holds {path} failed to read or write ({text}); it may be full.", "disk_error"
            )
    if isinstance(error, OSError) and error.errno == 28:  # ENOSPC
        return OakenError("The disk is full. What was committed is safe: make room and run this again.", "disk_full")
    return None
