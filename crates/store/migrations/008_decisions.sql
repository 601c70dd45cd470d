-- Not only calls wait for a person, and people decide.
ALTER TABLE approvals ADD COLUMN kind TEXT NOT NULL DEFAULT 'call';
ALTER TABLE approvals ADD COLUMN sha256 TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN decided_at BIGINT;
ALTER TABLE approvals ADD COLUMN decided_by TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN reason TEXT NOT NULL DEFAULT '';

-- How something stands is asked by what binds it, before each run.
CREATE INDEX approvals_digest ON approvals (digest, requested_at);
CREATE INDEX approvals_named ON approvals (kind, tool, decided_at) WHERE state = 'approved';
