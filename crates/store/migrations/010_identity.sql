-- Who works here: workspaces, and their developers. Of a workspace, `turn` grows with every change of its work, and whoever
-- changes work takes its row first: the order of turns is the order of commits. The daemon makes `local` at its start.
CREATE TABLE workspaces (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    turn        BIGINT NOT NULL,
    created_at  BIGINT NOT NULL
);

-- `role` is `admin` or `member`. A private developer is `@private` to everybody else.
CREATE TABLE developers (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    handle        TEXT NOT NULL UNIQUE,
    role          TEXT NOT NULL,
    private       BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    removed_at    BIGINT
);

CREATE INDEX developers_workspace ON developers (workspace_id, created_at, id);

-- What a token knows of who holds it: which agent it was made for, and whether its word counts where a person is asked.
ALTER TABLE tokens ADD COLUMN agent_type TEXT;
ALTER TABLE tokens ADD COLUMN may_approve BIGINT NOT NULL DEFAULT 0;
