-- What looks at a whole team need: indexes that give the newest of each list in order, audits of parallel work, and weeks
-- that were told. `conflicts` and `counts` are JSON; `more` is how many pairs there were beyond those that are kept.
DROP INDEX IF EXISTS tasks_status;
CREATE INDEX tasks_standing ON tasks (workspace_id, status, updated_at, id);
CREATE INDEX tasks_own ON tasks (developer_id, status, updated_at, id);
CREATE INDEX workstreams_standing ON workstreams (workspace_id, status, updated_at, id) WHERE auto_created = 0;
CREATE INDEX workstreams_own ON workstreams (developer_id, status, updated_at, id) WHERE auto_created = 0;

DROP INDEX IF EXISTS agent_sessions_seen;
DROP INDEX IF EXISTS agent_sessions_open;
CREATE INDEX agent_sessions_recent ON agent_sessions (workspace_id, last_seen_at, id);
CREATE INDEX agent_sessions_silent ON agent_sessions (workspace_id, last_seen_at, id) WHERE ended_at IS NULL;
CREATE INDEX agent_sessions_own ON agent_sessions (developer_id, last_seen_at, id) WHERE ended_at IS NULL;

CREATE INDEX session_contexts_newest ON session_contexts (developer_id, created_at, id)
    WHERE superseded_by IS NULL AND revoked_at IS NULL;
CREATE INDEX notes_kind ON notes (workspace_id, kind, at, id);

CREATE TABLE parallel_audits (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    session_id    TEXT,
    looked_at     BIGINT NOT NULL,
    left_out      BIGINT NOT NULL,
    conflicts     TEXT NOT NULL,
    more          BIGINT NOT NULL,
    at            BIGINT NOT NULL
);

CREATE INDEX parallel_audits_at ON parallel_audits (workspace_id, at, id);

CREATE TABLE weekly_summaries (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    session_id    TEXT,
    since         BIGINT NOT NULL,
    markdown      TEXT NOT NULL,
    counts        TEXT NOT NULL,
    at            BIGINT NOT NULL
);

CREATE INDEX weekly_summaries_at ON weekly_summaries (workspace_id, at, id);
