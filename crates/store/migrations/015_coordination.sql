-- Leases on paths. `session_id` is empty where no session was named, and so is `repo`. A claim counts until it has an `ending`,
-- `released` or `expired`; `told_at` is when its holder's agents heard that it expired. `renewal` is in milliseconds.
CREATE TABLE claims (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    session_id    TEXT NOT NULL,
    repo          TEXT NOT NULL,
    paths         TEXT NOT NULL,
    message       TEXT,
    renewal       BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    ending        TEXT,
    ended_at      BIGINT,
    told_at       BIGINT
);

CREATE INDEX claims_open ON claims (workspace_id, expires_at, id) WHERE ending IS NULL;
CREATE INDEX claims_own ON claims (developer_id, expires_at, id) WHERE ending IS NULL;
CREATE INDEX claims_session ON claims (session_id) WHERE ending IS NULL;
CREATE INDEX claims_untold ON claims (developer_id, ended_at, id) WHERE ending = 'expired' AND told_at IS NULL;

-- Who was refused paths because of a claim, until it is gone.
CREATE TABLE claim_waits (
    claim_id      TEXT NOT NULL REFERENCES claims (id),
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    paths         TEXT NOT NULL,
    at            BIGINT NOT NULL,
    PRIMARY KEY (claim_id, developer_id)
);

-- Messages among teammates. `to_id` is empty where one is for everybody. `closed_at` is when nothing was left to do for it.
CREATE TABLE messages (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    kind          TEXT NOT NULL,
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    session_id    TEXT,
    to_id         TEXT NOT NULL,
    ask_id        TEXT,
    text          TEXT NOT NULL,
    details       TEXT NOT NULL,
    at            BIGINT NOT NULL,
    closed_at     BIGINT
);

CREATE INDEX messages_ask ON messages (ask_id, kind, at, id) WHERE ask_id IS NOT NULL;
CREATE INDEX messages_kind ON messages (workspace_id, kind, at, id);
CREATE INDEX messages_open_to ON messages (workspace_id, kind, to_id, at, id) WHERE closed_at IS NULL;
CREATE INDEX messages_open_from ON messages (developer_id, kind, at, id) WHERE closed_at IS NULL;

-- In whose inbox a message is, and since when it is read.
CREATE TABLE inboxes (
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    message_id    TEXT NOT NULL REFERENCES messages (id),
    at            BIGINT NOT NULL,
    read_at       BIGINT,
    PRIMARY KEY (developer_id, message_id)
);

CREATE INDEX inboxes_at ON inboxes (developer_id, at, message_id);
CREATE INDEX inboxes_unread ON inboxes (developer_id, at, message_id) WHERE read_at IS NULL;
