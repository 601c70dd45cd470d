-- Sessions of the older MCP over HTTP. `id` is the SHA-256 of the session id, which is never here; `state` is JSON of
-- the face that speaks it.
CREATE TABLE sessions (
    id         BYTEA PRIMARY KEY,
    principal  TEXT NOT NULL,
    state      TEXT NOT NULL,
    opened_at  BIGINT NOT NULL,
    used_at    BIGINT NOT NULL
);

-- The longest idle first: of all, and of one principal.
CREATE INDEX sessions_idle ON sessions (used_at, id);
CREATE INDEX sessions_of ON sessions (principal, used_at, id);

-- Whoever changes several sessions at once changes this row first, so that two of them take turns.
INSERT INTO revision (id, number) VALUES (2, 0);
