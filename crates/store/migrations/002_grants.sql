-- Signed grants. `document` is the grant's JSON, `signer` the public key and `signature` what it signed.
-- `used` counts calls taken; `tat_us` is the moment, in microseconds since 1970, up to which the rate is used up.
CREATE TABLE grants (
    id          TEXT PRIMARY KEY,
    document    TEXT NOT NULL,
    signer      BYTEA NOT NULL,
    signature   BYTEA NOT NULL,
    granted_at  BIGINT NOT NULL,
    revoked_at  BIGINT,
    used        BIGINT NOT NULL DEFAULT 0,
    tat_us      BIGINT NOT NULL DEFAULT 0
);
