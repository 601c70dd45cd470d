-- What was wanted of agents, and what came of it. `chain` is the public key, in hex, of the daemon that runs it; `status`
-- is `queued`, `running`, `ok`, `error` or `cancelled`; `sources` and `enforcement` are JSON.
CREATE TABLE intents (
    id           TEXT PRIMARY KEY,
    chain        TEXT NOT NULL,
    agent        TEXT NOT NULL,
    issuer       TEXT NOT NULL,
    status       TEXT NOT NULL,
    priority     TEXT NOT NULL,
    parent       TEXT,
    call_id      TEXT NOT NULL,
    request      TEXT NOT NULL,
    answer       TEXT NOT NULL,
    sources      TEXT NOT NULL,
    enforcement  TEXT NOT NULL,
    credits      BIGINT NOT NULL,
    over_budget  BIGINT NOT NULL,
    issued_at    BIGINT NOT NULL,
    started_at   BIGINT,
    finished_at  BIGINT
);

-- The newest first: of all, of one issuer, of one agent, and of both.
CREATE INDEX intents_issued ON intents (issued_at, id);
CREATE INDEX intents_issuer ON intents (issuer, issued_at, id);
CREATE INDEX intents_agent ON intents (agent, issued_at, id);
CREATE INDEX intents_issuer_agent ON intents (issuer, agent, issued_at, id);

-- What a daemon left behind when it ended; and what is old enough to go.
CREATE INDEX intents_open ON intents (chain) WHERE status IN ('queued', 'running');
CREATE INDEX intents_finished ON intents (finished_at) WHERE finished_at IS NOT NULL;

-- What runs cost. `resource` is `compute`. An intent is settled once.
CREATE TABLE receipts (
    id          TEXT PRIMARY KEY,
    payer       TEXT NOT NULL,
    agent       TEXT NOT NULL,
    intent_id   TEXT NOT NULL UNIQUE,
    resource    TEXT NOT NULL,
    credits     BIGINT NOT NULL,
    settled_at  BIGINT NOT NULL
);

CREATE INDEX receipts_settled ON receipts (settled_at, id);
CREATE INDEX receipts_agent ON receipts (agent, settled_at, id);
