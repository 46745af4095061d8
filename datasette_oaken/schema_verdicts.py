"""The tables of the compile half: questions, what they are asked of, what was read, what was judged, what a person said of it.

Every count comes from ``recall_eligible``: one row for each question and message, which points at the verdict that counts.
Only ``datasette_oaken.eligible`` and ``datasette_oaken.verdicts`` write it, and can make it again from the other tables.
"""

from __future__ import annotations

VERDICTS = """
-- What is asked, verbatim. scope: filters as they were given; scope_resolved: the same with dates made absolute, in the form
-- that the reader of queries prints and reads back. judge, model and prompt_version: whose verdicts count (null: none yet).
-- seed: what the order of the random sample is drawn from, so that no mail can know its place in it.
create table recall_questions (
  id integer primary key autoincrement,
  question text not null,
  criterion text not null default '',
  scope text not null default '',
  scope_resolved text not null default '',
  judge text,
  model text,
  prompt_version text,
  remote_host text,
  seed integer not null,
  created_at text not null,
  unique (question, scope)
);

-- What happened to a question that can change its count, so that a changed count can say why.
create table recall_question_changes (
  id integer primary key,
  question_id integer not null references recall_questions(id) on delete cascade,
  changed_at text not null,
  what text not null,
  detail text not null
);
create index recall_question_changes_question on recall_question_changes (question_id, id);

-- What the scope came to: one row a saying (second deliveries are in copies, not in rows of their own).
-- reading_sha256: null until it has been read. verdict_id, status: the active judge's current verdict; where that judge has
-- none but a person has answered, verdict_id is the person's. answer: what a person said (1, 0), which counts before status.
-- stale: the active judge's verdicts on it no longer hold, and it waits for a new one. lot: its place in the random sample.
create table recall_eligible (
  question_id integer not null references recall_questions(id) on delete cascade,
  message_id integer not null references messages(id) on delete cascade,
  reading_sha256 text references recall_readings(sha256),
  lot integer not null,
  copies integer not null default 0,
  verdict_id integer,
  status text check (status in ('yes', 'no', 'unclear', 'error')),
  answer integer check (answer in (0, 1)),
  stale integer not null default 0,
  primary key (question_id, message_id)
) without rowid;
create index recall_eligible_sample on recall_eligible (question_id, status, lot, answer);
create index recall_eligible_message on recall_eligible (message_id);
create index recall_eligible_reading on recall_eligible (reading_sha256);
create index recall_eligible_verdict on recall_eligible (verdict_id);

-- recall_eligible added up, by the triggers below and nothing else, so that a count is a handful of rows however much mail
-- there is. status '' and answer -1 stand for null, which cannot be part of a key.
create table recall_tallies (
  question_id integer not null references recall_questions(id) on delete cascade,
  status text not null,
  answer integer not null,
  messages integer not null,
  stale integer not null,
  copies integer not null,
  primary key (question_id, status, answer)
) without rowid;

create trigger recall_eligible_added after insert on recall_eligible begin
  insert into recall_tallies (question_id, status, answer, messages, stale, copies)
  values (new.question_id, coalesce(new.status, ''), coalesce(new.answer, -1), 1, new.stale, new.copies)
  on conflict (question_id, status, answer) do update
    set messages = messages + 1, stale = stale + excluded.stale, copies = copies + excluded.copies;
end;

create trigger recall_eligible_removed after delete on recall_eligible begin
  update recall_tallies set messages = messages - 1, stale = stale - old.stale, copies = copies - old.copies
  where question_id = old.question_id and status = coalesce(old.status, '') and answer = coalesce(old.answer, -1);
end;

create trigger recall_eligible_changed after update of status, answer, stale, copies on recall_eligible
when old.status is not new.status or old.answer is not new.answer or old.stale <> new.stale or old.copies <> new.copies begin
  update recall_tallies set messages = messages - 1, stale = stale - old.stale, copies = copies - old.copies
  where question_id = old.question_id and status = coalesce(old.status, '') and answer = coalesce(old.answer, -1);
  insert into recall_tallies (question_id, status, answer, messages, stale, copies)
  values (new.question_id, coalesce(new.status, ''), coalesce(new.answer, -1), 1, new.stale, new.copies)
  on conflict (question_id, status, answer) do update
    set messages = messages + 1, stale = stale + excluded.stale, copies = copies + excluded.copies;
end;

-- Exactly what a judge was given, kept once. own_start, own_stop: the characters that are the message's own, of which alone a
-- quote counts. left_out: characters of its own words that did not fit. format: the version of the form it is written in.
create table recall_readings (
  sha256 text primary key,
  text text not null,
  own_start integer not null,
  own_stop integer not null,
  left_out integer not null default 0,
  format integer not null
);

-- Whose words are in a reading, so that forgetting a message takes them out of the others' readings.
create table recall_reading_parts (
  sha256 text not null references recall_readings(sha256) on delete cascade,
  message_id integer not null references messages(id),
  primary key (sha256, message_id)
) without rowid;
create index recall_reading_parts_message on recall_reading_parts (message_id);

-- One judgement, with everything it rests on. Not email-shaped: (account, source, source_id) is the identity, message_id is
-- null for a source with no mail. basis: a hash of question, criterion, reading, judge, model and prompt version; the same
-- message is judged once on one basis, and only an error is ever written over, by a later attempt.
-- shared_from: the verdict on an equal reading that was taken over. A verdict that no longer holds stays as history.
create table recall_verdicts (
  id integer primary key autoincrement,
  question_id integer not null references recall_questions(id) on delete cascade,
  question text not null,
  criterion text not null,
  account text not null,
  source text not null default 'email',
  source_id text not null,
  message_id integer,
  judge text not null,
  verdict integer check (verdict in (0, 1)),
  status text not null check (status in ('yes', 'no', 'unclear', 'error')),
  reasoning text,
  considerations text,
  quote text,
  model text not null,
  prompt_version text not null,
  reading_sha256 text not null references recall_readings(sha256),
  judged_at text not null,
  duration_ms integer,
  attempts integer not null default 1,
  error text,
  remote_host text,
  shared_from integer,
  basis integer not null,
  check ((status = 'yes') = (verdict is 1) and (status = 'no') = (verdict is 0)),
  unique (question_id, message_id, basis)
);
create index recall_verdicts_judged_at on recall_verdicts (question_id, judge, judged_at);
create index recall_verdicts_message on recall_verdicts (message_id);
create index recall_verdicts_reading on recall_verdicts (reading_sha256);

-- What a person says of a verdict; the newest counts. answer: what the right answer is (1, 0), by agreeing or otherwise.
create table recall_reviews (
  id integer primary key autoincrement,
  verdict_id integer not null references recall_verdicts(id) on delete cascade,
  agrees integer not null check (agrees in (0, 1)),
  answer integer check (answer in (0, 1)),
  note text not null default '',
  reviewer text,
  reviewed_at text not null
);
create index recall_reviews_verdict on recall_reviews (verdict_id);

-- The verdict that counts, one row a question and message. status and verdict are what is counted: the person's answer where
-- there is one, else the judge's; judged_status is what the judge said. Messages that are not judged have no row.
create view verdicts_current as
select
  e.question_id, v.question, v.criterion, e.message_id, v.account, v.source, v.source_id, e.verdict_id,
  case e.answer when 1 then 'yes' when 0 then 'no' else e.status end as status,
  case when e.answer is not null then e.answer else v.verdict end as verdict,
  e.status as judged_status, e.answer as reviewed,
  m.sent_at, m.from_name, m.from_address, m.subject, m.thread_id,
  v.quote, v.reasoning, v.considerations, v.judge, v.model, v.prompt_version, v.reading_sha256, v.judged_at, v.duration_ms,
  v.attempts, v.error
from recall_eligible e
join recall_verdicts v on v.id = e.verdict_id
join messages m on m.id = e.message_id;

-- What each judge and model said on what is asked and read now, side by side; older models' last words too.
create view verdicts_by_model as
select
  v.question_id, v.question, v.message_id, v.judge, v.model, v.prompt_version, v.status, v.verdict, v.quote, v.reasoning,
  v.considerations, v.judged_at, v.id as verdict_id, v.id is e.verdict_id as counts
from recall_verdicts v
join recall_questions q on q.id = v.question_id and q.question = v.question and q.criterion = v.criterion
join recall_eligible e on e.question_id = v.question_id and e.message_id = v.message_id
  and e.reading_sha256 = v.reading_sha256;

-- How far each question is. eligible = yes + no + unclear + errors + remaining; coverage = (yes + no + unclear) / eligible.
create view questions_progress as
select
  q.id as question_id, q.question, q.criterion, q.scope_resolved as scope, q.judge, q.model,
  p.eligible, p.yes + p.no + p.unclear as judged, p.yes, p.no, p.unclear, p.errors,
  p.eligible - p.yes - p.no - p.unclear - p.errors as remaining,
  -- What is not whole is never rounded to 1.
  case when not p.eligible then 0.0 when p.yes + p.no + p.unclear = p.eligible then 1.0
    else min(round(1.0 * (p.yes + p.no + p.unclear) / p.eligible, 6), 0.999999) end as coverage,
  p.stale, p.copies, p.reviewed
from recall_questions q join (
  select
    q.id as question_id, coalesce(sum(t.messages), 0) as eligible,
    coalesce(sum(t.messages) filter (where t.answer = 1 or (t.answer = -1 and t.status = 'yes')), 0) as yes,
    coalesce(sum(t.messages) filter (where t.answer = 0 or (t.answer = -1 and t.status = 'no')), 0) as no,
    coalesce(sum(t.messages) filter (where t.answer = -1 and t.status = 'unclear'), 0) as unclear,
    coalesce(sum(t.messages) filter (where t.answer = -1 and t.status = 'error'), 0) as errors,
    coalesce(sum(t.stale), 0) as stale,
    coalesce(sum(t.copies), 0) as copies,
    coalesce(sum(t.messages) filter (where t.answer <> -1), 0) as reviewed
  from recall_questions q left join recall_tallies t on t.question_id = q.id
  group by q.id
) p on p.question_id = q.id;
"""
