-- The audit log of daemons whose `[audit] sink` is `database`: here these tables are the log, and nothing can be read in
-- again. `chain` is the daemon's public key in hex; each daemon has a chain of its own, and the primary key keeps two
-- processes with one key from continuing the same row twice. `line` is the row as it was hashed.
CREATE TABLE audit_log (
    chain  TEXT NOT NULL,
    seq    BIGINT NOT NULL,
    ts     BIGINT NOT NULL,
    line   TEXT NOT NULL,
    PRIMARY KEY (chain, seq)
);

-- Signed lines about a chain. `kind` is `checkpoint`, with the row it covers as `seq`, or `tombstone`, at most one, with
-- the first row that was kept.
CREATE TABLE audit_marks (
    chain  TEXT NOT NULL,
    kind   TEXT NOT NULL,
    seq    BIGINT NOT NULL,
    line   TEXT NOT NULL,
    PRIMARY KEY (chain, kind, seq)
);
