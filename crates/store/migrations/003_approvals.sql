-- Calls that wait for a person. `state` is `pending` or `expired`; `shown` is the call as a person sees it.
CREATE TABLE approvals (
    id            TEXT PRIMARY KEY,
    digest        BYTEA NOT NULL,
    tool          TEXT NOT NULL,
    principal     TEXT NOT NULL,
    grant_id      TEXT NOT NULL,
    shown         TEXT NOT NULL,
    requested_at  BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    state         TEXT NOT NULL
);

-- The same call waits once, however often it is asked for.
CREATE UNIQUE INDEX approvals_pending ON approvals (digest) WHERE state = 'pending';
CREATE INDEX approvals_waiting ON approvals (principal, expires_at) WHERE state = 'pending';
