-- What was made of two pieces of work, looked up by both.
CREATE INDEX scope_verdicts_pair ON scope_verdicts (work_id, candidate_id);
