"""The file: every table, why it is there, and the numbered steps that bring an older file up to date.

Conventions: ``message_id`` is always ``messages.id``; the RFC 5322 header is ``internet_message_id``. Times are ISO 8601
UTC text (``2026-01-31T09:30:00Z``). ``account`` is the account's name, so that anyone's SQL reads without a join.

Derived (rebuilt from ``raw_messages`` alone): message header columns, recipients, attachments, texts, sections, chunks, FTS,
vectors, threads. Not derived: raw messages, locations, labels, state, failures; questions, readings, verdicts, reviews
(``schema_verdicts``).

Oldest SQLite that works: 3.40 (Debian 12), so no contentless-delete FTS tables and no ORDER BY inside an aggregate.
"""

from __future__ import annotations

from .schema_verdicts import VERDICTS

APPLICATION_ID = 0x4F414B4E
"""``OAKN`` in SQLite's header: how a file is known to be ours, whatever it is called."""

FTS_COLUMNS = ("subject", "author", "recipients", "attachments", "text")

MAIL = """
create table accounts (
  id integer primary key,
  name text not null unique
);

create table mailboxes (
  id integer primary key,
  account text not null references accounts(name),
  name text not null,
  unique (account, name)
);

-- One row a conversation. The id is stable: when two threads turn out to be one, the smaller id stays.
create table threads (
  id integer primary key autoincrement,
  account text not null references accounts(name),
  subject text,
  first_at text,
  last_at text,
  message_count integer not null default 0
);

-- Every Message-ID that a thread has sent or referred to, so that a child may arrive before its parent.
create table thread_references (
  account text not null,
  internet_message_id text not null,
  thread_id integer not null references threads(id),
  primary key (account, internet_message_id)
) without rowid;
create index thread_references_thread on thread_references (thread_id);

-- Identity is content: content_hash is sha256 over the raw bytes with line endings made one and what a store adds left out.
-- autoincrement, since the id is in other people's notes and links and must never come to mean another message.
create table messages (
  id integer primary key autoincrement,
  account text not null references accounts(name),
  source text not null default 'email',
  source_id text not null,
  internet_message_id text,
  thread_id integer references threads(id),
  copy_of integer references messages(id),
  subject text,
  from_name text,
  from_address text,
  sent_at text,
  size integer not null,
  has_attachments integer not null default 0,
  content_hash text not null,
  authored_hash text,  -- sha256 of the writer's own words: with the Message-ID it tells a second delivery of one saying
  unique (account, content_hash),
  unique (account, source, source_id)
);
create index messages_internet_message_id on messages (internet_message_id);
create index messages_thread on messages (thread_id, sent_at);
create index messages_sent_at on messages (sent_at);
create index messages_from_address on messages (from_address);
create index messages_copy_of on messages (copy_of) where copy_of is not null;

-- The only copy of what came in; everything above and below can be rebuilt from it. codec: 'zlib' or 'none'.
create table raw_messages (
  message_id integer primary key references messages(id) on delete cascade,
  sha256 text not null,
  codec text not null,
  raw blob not null
);

-- A message may lie in several mailboxes, and twice in one. provider_key is the source's own name for the place.
create table message_locations (
  message_id integer not null references messages(id) on delete cascade,
  mailbox_id integer not null references mailboxes(id),
  provider_key text not null,
  fingerprint text,
  flags text not null default '',
  primary key (mailbox_id, provider_key)
) without rowid;
create index message_locations_message on message_locations (message_id);

create table message_recipients (
  id integer primary key,
  message_id integer not null references messages(id) on delete cascade,
  role text not null check (role in ('to', 'cc', 'bcc', 'reply-to')),
  name text,
  address text
);
create index message_recipients_message on message_recipients (message_id);
create index message_recipients_address on message_recipients (address);

create table message_labels (
  message_id integer not null references messages(id) on delete cascade,
  label text not null,
  primary key (message_id, label)
) without rowid;
create index message_labels_label on message_labels (label);

-- is_read follows the source's flags until a person changes it here (is_read_set = 1).
create table message_state (
  message_id integer primary key references messages(id) on delete cascade,
  is_read integer not null default 0,
  read_at text,
  is_read_set integer not null default 0,
  disposition text not null default 'inbox' check (disposition in ('inbox', 'archived', 'discarded')),
  category text,
  priority integer not null default 0 check (priority between 0 and 3)
);

-- part is the position of the MIME part in a depth-first walk of the tree, from 0: how its bytes are found again in the raw.
create table attachments (
  id integer primary key,
  message_id integer not null references messages(id) on delete cascade,
  part integer not null,
  filename text,
  content_type text,
  size integer not null,
  sha256 text not null,
  content_id text
);
create index attachments_message on attachments (message_id);

-- The body as text, zlib-compressed UTF-8; sections are spans of it, in characters. from_html: it was made from HTML.
create table message_texts (
  message_id integer primary key references messages(id) on delete cascade,
  text blob not null,
  from_html integer not null default 0,
  language text
);
create index message_texts_language on message_texts (language);  -- counted without reading the texts

-- Spans that tile the text: nothing is deleted, every character has one section and a reason.
create table message_sections (
  message_id integer not null references messages(id) on delete cascade,
  position integer not null,
  section text not null check (section in ('headers', 'authored', 'quoted', 'forwarded', 'signature', 'disclaimer')),
  start integer not null,
  stop integer not null,
  why text not null,
  primary key (message_id, position)
) without rowid;

create table sync_cursors (
  source text not null,
  mailbox text not null,
  cursor text not null,
  updated_at text not null,
  primary key (source, mailbox)
) without rowid;

-- What could not be stored, one row a failure, with the bytes so that a later version can try again.
create table ingest_failures (
  id integer primary key,
  source text not null,
  mailbox text,
  key text not null,
  error text not null,
  attempts integer not null,
  raw blob,
  first_at text not null,
  last_at text not null,
  unique (source, key)
);

-- Small facts about the file itself: who is writing, when it was last ingested.
create table oaken_facts (
  name text primary key,
  value text not null
) without rowid;
"""

RECALL = """
-- What is searched. Not email-shaped: message_id is null for a source that has no mail. Rows are never updated in place,
-- since FTS and vectors hang on them: delete and insert (datasette_oaken.rows does).
create table recall_chunks (
  id integer primary key autoincrement,
  source text not null,
  source_id text not null,
  account text not null,
  thread_id integer,
  author text,
  said_at text,
  text text not null,
  message_id integer references messages(id),
  section text not null check (section in ('headers', 'authored', 'quoted', 'forwarded', 'signature', 'disclaimer')),
  position integer not null,
  content_hash text not null,
  policy_version integer not null,
  unique (account, source, source_id, section, position)
);
create index recall_chunks_message on recall_chunks (message_id);
create index recall_chunks_thread on recall_chunks (thread_id);
create index recall_chunks_content_hash on recall_chunks (content_hash);

-- What FTS indexes, as one definition: used to insert, to delete (FTS5's 'delete' must be given what was indexed) and to
-- rebuild. The inner ORDER BYs make the joined strings the same each time.
create view _recall_chunks_fts_content as
select
  c.id as id,
  coalesce(m.subject, '') as subject,
  coalesce(c.author, '') as author,
  coalesce((select group_concat(person, ' ') from (
    select trim(coalesce(r.name, '') || ' ' || coalesce(r.address, '')) as person
    from message_recipients r where r.message_id = c.message_id order by r.id)), '') as recipients,
  coalesce((select group_concat(filename, ' ') from (
    select a.filename from attachments a where a.message_id = c.message_id and a.filename is not null order by a.id)), ''
  ) as attachments,
  c.text as text
from recall_chunks c left join messages m on m.id = c.message_id;

-- Words, stemmed. Phrases, identifiers and a word's own form are verified against the text afterwards.
create virtual table recall_chunks_fts using fts5(
  subject, author, recipients, attachments, text,
  content='_recall_chunks_fts_content', content_rowid='id',
  tokenize="porter unicode61 remove_diacritics 2"
);

-- Pairs of neighbouring Chinese, Japanese and Korean characters, only for chunks that have any: unicode61 takes a whole
-- run of them for one word. Fed by the SQL function oaken_bigrams.
create virtual table recall_chunks_fts_cjk using fts5(
  pairs, content='', detail='none', tokenize="unicode61 remove_diacritics 0"
);

-- A generation is one model with one policy. state: 'building' (not complete), 'current' (answers), at most one of each.
-- encoding: how recall_vectors.embedding is stored ('int8': each vector scaled by its own largest component; cosine only).
create table recall_generations (
  id integer primary key autoincrement,
  model text not null,
  dimension integer not null,
  fingerprint text not null,
  encoding text not null,
  state text not null check (state in ('building', 'current')),
  created_at text not null
);
create unique index recall_generations_state on recall_generations (state);

-- The canonical vectors; the vec0 table _recall_vec0_<generation> is derived from them.
-- input_hash: of the text that was embedded, so that equal text is embedded once.
create table recall_vectors (
  generation_id integer not null references recall_generations(id),
  chunk_id integer not null references recall_chunks(id),
  input_hash integer not null,
  embedding blob not null,
  primary key (generation_id, chunk_id)
);
create index recall_vectors_chunk on recall_vectors (chunk_id);
create index recall_vectors_input on recall_vectors (generation_id, input_hash);

-- Chunks that a generation still lacks; a chunk that fails keeps its error here and is passed over until asked again.
create table embedding_queue (
  generation_id integer not null references recall_generations(id),
  chunk_id integer not null references recall_chunks(id),
  attempts integer not null default 0,
  error text,
  primary key (generation_id, chunk_id)
) without rowid;
create index embedding_queue_chunk on embedding_queue (chunk_id);

-- vec0 rows that a connection without the extension could not delete: purged by the next connection that can.
create table vec0_purges_due (
  generation_id integer not null,
  chunk_id integer not null,
  primary key (generation_id, chunk_id)
) without rowid;
"""

AGAIN = """
-- What reading the same mail again needs. Labels are kept with the place they were found at, a JSON list: message_labels is
-- their union over a message's places, so that one taken off at the source goes here too. Of an older file no one knows which
-- place a label came from, so each place has them all until it is read again.
alter table message_locations add column labels text not null default '[]';
update message_locations set labels = coalesce(
  (select json_group_array(l.label) from message_labels l where l.message_id = message_locations.message_id), '[]');

-- codec 'raw': zlib with the beginning of the raw message as its preset dictionary (datasette_oaken.stored); 'zlib': by itself.
alter table message_texts add column codec text not null default 'zlib';

-- Filters look for a part of an address or name, which no index helps.
drop index message_recipients_address;

-- How far a file that grows has been read: name is the source's name for the file, cursor is in the source's own terms.
drop table sync_cursors;
create table sync_cursors (
  account text not null,
  mailbox text not null,
  name text not null,
  cursor text not null,
  updated_at text not null,
  primary key (account, mailbox, name)
) without rowid;

-- What could not be stored, one row a failure, with the bytes so that a later version can try again. account is null for those
-- of an older file in which they could be anyone's.
create table ingest_failures_of_accounts (
  id integer primary key,
  account text,
  source text not null,
  mailbox text,
  key text not null,
  error text not null,
  attempts integer not null,
  raw blob,
  first_at text not null,
  last_at text not null,
  unique (account, source, key)
);
insert into ingest_failures_of_accounts (id, account, source, mailbox, key, error, attempts, raw, first_at, last_at)
select
  f.id,
  case
    when (select count(*) from accounts) = 1 then (select name from accounts)
    when (select count(*) from mailboxes b where b.name = f.mailbox) = 1
    then (select b.account from mailboxes b where b.name = f.mailbox)
  end,
  f.source, f.mailbox, f.key, f.error, f.attempts, f.raw, f.first_at, f.last_at
from ingest_failures f;
drop table ingest_failures;
alter table ingest_failures_of_accounts rename to ingest_failures;
"""

MIGRATIONS: tuple[str, ...] = (MAIL + RECALL, VERDICTS, AGAIN)
"""``MIGRATIONS[n]`` brings ``user_version`` n to n + 1. Never edit one that has been released: add the next."""

VERSION = len(MIGRATIONS)
