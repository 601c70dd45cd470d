-- What was found to be like work that somebody wanted to do, and what they made of it. `found` is a list in JSON, best first.
CREATE TABLE overlap_warnings (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    check_id      TEXT,
    kind          TEXT NOT NULL,
    title         TEXT NOT NULL,
    title_key     TEXT NOT NULL,
    found         TEXT NOT NULL,
    status        TEXT NOT NULL,
    reason        TEXT,
    work_id       TEXT,
    at            BIGINT NOT NULL,
    settled_at    BIGINT
);

CREATE INDEX overlap_warnings_at ON overlap_warnings (workspace_id, at, id) WHERE status <> 'superseded';
CREATE INDEX overlap_warnings_own ON overlap_warnings (developer_id, at, id) WHERE status = 'open';
CREATE INDEX overlap_warnings_open ON overlap_warnings (developer_id, kind, title_key) WHERE status = 'open';

-- What an agent made of each candidate of a check when its work began.
CREATE TABLE scope_verdicts (
    check_id      TEXT NOT NULL,
    work_id       TEXT NOT NULL,
    candidate_id  TEXT NOT NULL,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    same_scope    BIGINT NOT NULL,
    reason        TEXT NOT NULL,
    at            BIGINT NOT NULL,
    PRIMARY KEY (check_id, work_id, candidate_id)
);

-- What is over, by when: the work of a team that a look still considers is read without what is long past.
CREATE INDEX tasks_ended ON tasks (workspace_id, ended_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX workstreams_ended ON workstreams (workspace_id, ended_at, id) WHERE ended_at IS NOT NULL;
CREATE INDEX tasks_running ON tasks (workspace_id, id) WHERE ended_at IS NULL;
CREATE INDEX workstreams_running ON workstreams (workspace_id, id) WHERE ended_at IS NULL;
