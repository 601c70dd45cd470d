-- Tokens of every kind of principal. The token itself is never here: only the SHA-256 it is recognised by.
CREATE TABLE tokens (
    id          TEXT PRIMARY KEY,
    hash        BYTEA NOT NULL UNIQUE,
    principal   TEXT NOT NULL,
    label       TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    revoked_at  BIGINT
);

-- A principal holds one valid token per label.
CREATE UNIQUE INDEX tokens_valid ON tokens (principal, label) WHERE revoked_at IS NULL;
