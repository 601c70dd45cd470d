-- What whoever began one piece of work made of another, the newest first.
CREATE INDEX scope_verdicts_pair ON scope_verdicts (work_id, candidate_id, at);
