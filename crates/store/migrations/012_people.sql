-- How people sign in. A code is a single-use link: `link` of the operator's own, `invite` of somebody who is to choose how they
-- sign in. Of codes and of the cookies of sessions there is only the SHA-256 here.
CREATE TABLE signin_codes (
    hash        BYTEA PRIMARY KEY,
    kind        TEXT NOT NULL,
    principal   TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    used_at     BIGINT
);

CREATE INDEX signin_codes_of ON signin_codes (principal, kind);

-- `phc` says with what cost the password was hashed, and how: `$argon2id$…`.
CREATE TABLE passwords (
    developer_id  TEXT PRIMARY KEY REFERENCES developers (id),
    phc           TEXT NOT NULL,
    set_at        BIGINT NOT NULL
);

CREATE TABLE web_sessions (
    hash        BYTEA PRIMARY KEY,
    principal   TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    used_at     BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    ended_at    BIGINT
);

CREATE INDEX web_sessions_of ON web_sessions (principal, used_at, hash);

-- `counter` is what the passkey counted when it was last used: one that counts back was copied.
CREATE TABLE passkeys (
    id            BYTEA PRIMARY KEY,
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    public_key    BYTEA NOT NULL,
    counter       BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    used_at       BIGINT
);

CREATE INDEX passkeys_of ON passkeys (developer_id);

-- Who somebody is to a provider of identities.
CREATE TABLE oidc_subjects (
    issuer        TEXT NOT NULL,
    subject       TEXT NOT NULL,
    developer_id  TEXT NOT NULL REFERENCES developers (id),
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject)
);

CREATE INDEX oidc_subjects_of ON oidc_subjects (developer_id);
