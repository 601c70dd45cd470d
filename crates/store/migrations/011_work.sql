-- What teams of coding agents do. Lists and details are JSON. `turn` is the number that the workspace's row had when the row
-- changed: who knows everything up to a turn reads what is newer.
CREATE TABLE workstreams (
    id               TEXT PRIMARY KEY,
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id),
    developer_id     TEXT NOT NULL REFERENCES developers (id),
    session_id       TEXT,
    title            TEXT NOT NULL,
    description      TEXT NOT NULL,
    scope            TEXT NOT NULL,
    action           TEXT,
    component        TEXT,
    target_files     TEXT NOT NULL,
    auto_created     BIGINT NOT NULL,
    status           TEXT NOT NULL,
    result_summary   TEXT,
    reason           TEXT,
    idempotency_key  TEXT,
    created_at       BIGINT NOT NULL,
    started_at       BIGINT,
    updated_at       BIGINT NOT NULL,
    ended_at         BIGINT,
    turn             BIGINT NOT NULL
);

CREATE UNIQUE INDEX workstreams_key ON workstreams (developer_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX workstreams_turn ON workstreams (workspace_id, turn, id);
CREATE INDEX workstreams_status ON workstreams (workspace_id, status, updated_at);

CREATE TABLE tasks (
    id               TEXT PRIMARY KEY,
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id),
    developer_id     TEXT NOT NULL REFERENCES developers (id),
    session_id       TEXT,
    workstream_id    TEXT REFERENCES workstreams (id),
    title            TEXT NOT NULL,
    description      TEXT NOT NULL,
    scope            TEXT NOT NULL,
    action           TEXT,
    component        TEXT,
    target_files     TEXT NOT NULL,
    task_type        TEXT NOT NULL,
    priority         TEXT NOT NULL,
    status           TEXT NOT NULL,
    result_summary   TEXT,
    reason           TEXT,
    idempotency_key  TEXT,
    created_at       BIGINT NOT NULL,
    started_at       BIGINT,
    updated_at       BIGINT NOT NULL,
    ended_at         BIGINT,
    turn             BIGINT NOT NULL
);

CREATE UNIQUE INDEX tasks_key ON tasks (developer_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX tasks_turn ON tasks (workspace_id, turn, id);
CREATE INDEX tasks_status ON tasks (workspace_id, status, updated_at);
CREATE INDEX tasks_open ON tasks (workstream_id, created_at, id) WHERE status IN ('planned', 'active', 'blocked');
CREATE INDEX tasks_orphaned ON tasks (id) WHERE workstream_id IS NULL;

CREATE TABLE agent_sessions (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    agent_name    TEXT,
    agent_type    TEXT,
    provider      TEXT,
    model         TEXT,
    repo          TEXT,
    branch        TEXT,
    started_at    BIGINT NOT NULL,
    last_seen_at  BIGINT NOT NULL,
    ended_at      BIGINT
);

CREATE INDEX agent_sessions_seen ON agent_sessions (workspace_id, last_seen_at);
CREATE INDEX agent_sessions_open ON agent_sessions (workspace_id, last_seen_at) WHERE ended_at IS NULL;

-- How repositories look where agents work: one row for each session, repository, branch and worktree; `session_id` is empty
-- where no session was named. Names and hashes, never contents.
CREATE TABLE local_worktrees (
    developer_id    TEXT NOT NULL REFERENCES developers (id),
    session_id      TEXT NOT NULL,
    repo            TEXT NOT NULL,
    branch          TEXT NOT NULL,
    worktree        TEXT NOT NULL,
    workspace_id    TEXT NOT NULL REFERENCES workspaces (id),
    dirty_files     TEXT NOT NULL,
    unpushed_files  TEXT NOT NULL,
    diff_hashes     TEXT NOT NULL,
    recent_commits  TEXT NOT NULL,
    at              BIGINT NOT NULL,
    PRIMARY KEY (developer_id, session_id, repo, branch, worktree)
);

CREATE INDEX local_worktrees_at ON local_worktrees (workspace_id, at);

-- The companion that was heard of for a developer, and the repositories it knows.
CREATE TABLE companions (
    developer_id  TEXT PRIMARY KEY REFERENCES developers (id),
    version       TEXT,
    repos         TEXT,
    at            BIGINT NOT NULL
);

CREATE TABLE session_contexts (
    id             TEXT PRIMARY KEY,
    workspace_id   TEXT NOT NULL REFERENCES workspaces (id),
    developer_id   TEXT NOT NULL REFERENCES developers (id),
    session_id     TEXT,
    repo           TEXT NOT NULL,
    branch         TEXT NOT NULL,
    body           TEXT NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    superseded_by  TEXT,
    revoked_at     BIGINT
);

CREATE INDEX session_contexts_current ON session_contexts (workspace_id, created_at, id)
    WHERE superseded_by IS NULL AND revoked_at IS NULL;
CREATE INDEX session_contexts_own ON session_contexts (developer_id, repo, branch)
    WHERE superseded_by IS NULL AND revoked_at IS NULL;

-- Decisions and blockers. `subject_id` is the task or workstream it is about.
CREATE TABLE notes (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    session_id    TEXT,
    kind          TEXT NOT NULL,
    text          TEXT NOT NULL,
    subject_id    TEXT,
    at            BIGINT NOT NULL
);

CREATE INDEX notes_at ON notes (workspace_id, at, id);

-- Looks at what others do, before a start. `inputs` is what was to be done.
CREATE TABLE preflight_checks (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    kind          TEXT NOT NULL,
    title_key     TEXT NOT NULL,
    planned_id    TEXT,
    inputs        TEXT NOT NULL,
    warning_id    TEXT,
    at            BIGINT NOT NULL
);

CREATE INDEX preflight_checks_latest ON preflight_checks (developer_id, kind, title_key, at, id);
CREATE INDEX preflight_checks_planned ON preflight_checks (planned_id, at) WHERE planned_id IS NOT NULL;

-- What changed, that calls were made, and what agents were told. A call by nobody we know has neither team nor developer.
CREATE TABLE work_events (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    session_id    TEXT,
    event         TEXT NOT NULL,
    subject_id    TEXT,
    status        TEXT NOT NULL,
    payload_json  TEXT NOT NULL,
    at            BIGINT NOT NULL
);

CREATE INDEX work_events_all ON work_events (at, id);
CREATE INDEX work_events_at ON work_events (workspace_id, at, id);
CREATE INDEX work_events_own ON work_events (developer_id, at, id);
CREATE INDEX work_events_subject ON work_events (subject_id, at, id) WHERE subject_id IS NOT NULL;

CREATE TABLE usage_events (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT REFERENCES workspaces (id),
    developer_id  TEXT REFERENCES developers (id),
    session_id    TEXT,
    event         TEXT NOT NULL,
    subject_id    TEXT,
    status        TEXT NOT NULL,
    payload_json  TEXT NOT NULL,
    at            BIGINT NOT NULL
);

CREATE INDEX usage_events_all ON usage_events (at, id);
CREATE INDEX usage_events_at ON usage_events (workspace_id, at, id);
CREATE INDEX usage_events_own ON usage_events (developer_id, at, id);

CREATE TABLE agent_feedback_events (
    id               TEXT PRIMARY KEY,
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id),
    developer_id     TEXT NOT NULL REFERENCES developers (id),
    session_id       TEXT,
    event            TEXT NOT NULL,
    subject_id       TEXT,
    status           TEXT NOT NULL,
    feedback_type    TEXT NOT NULL,
    message          TEXT NOT NULL,
    required_action  TEXT,
    payload_json     TEXT NOT NULL,
    at               BIGINT NOT NULL
);

CREATE INDEX agent_feedback_events_all ON agent_feedback_events (at, id);
CREATE INDEX agent_feedback_events_at ON agent_feedback_events (workspace_id, at, id);
CREATE INDEX agent_feedback_events_own ON agent_feedback_events (developer_id, at, id);
CREATE INDEX agent_feedback_events_tone ON agent_feedback_events (developer_id, feedback_type, at, id);
