-- Grows with every change of tokens and grants: daemons that share a database see by it that they must read again.
CREATE TABLE revision (
    id      BIGINT PRIMARY KEY,
    number  BIGINT NOT NULL
);

INSERT INTO revision (id, number) VALUES (1, 0);
