-- An index over the audit files, which are the log: this table can be emptied and read in again at any time.
-- `chain` is the public key, in hex, of the daemon that wrote the row; each daemon has a chain of its own.
CREATE TABLE audit_rows (
    chain      TEXT NOT NULL,
    seq        BIGINT NOT NULL,
    ts         BIGINT NOT NULL,
    principal  TEXT NOT NULL,
    agent_id   TEXT NOT NULL,
    kind       TEXT NOT NULL,
    decision   TEXT NOT NULL,
    call_id    TEXT,
    line       TEXT NOT NULL,
    PRIMARY KEY (chain, seq)
);

CREATE INDEX audit_rows_ts ON audit_rows (ts, seq);
CREATE INDEX audit_rows_agent ON audit_rows (agent_id, seq);
CREATE INDEX audit_rows_call ON audit_rows (call_id) WHERE call_id IS NOT NULL;
