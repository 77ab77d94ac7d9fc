CREATE TABLE IF NOT EXISTS questions (
    key TEXT PRIMARY KEY,
    material TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    at TEXT NOT NULL,
    source TEXT NOT NULL,
    grade INTEGER,
    reason TEXT,
    failure TEXT,
    detail TEXT,
    raw TEXT,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    cached_tokens INTEGER,
    reasoning_tokens INTEGER,
    seconds REAL,
    model TEXT,
    fingerprint TEXT,
    dialect TEXT,
    output_limit INTEGER,
    counting TEXT,
    CHECK ((grade IS NULL) <> (failure IS NULL))
);
CREATE INDEX IF NOT EXISTS attempts_by_key ON attempts (key);
CREATE TABLE IF NOT EXISTS pairs (
    key TEXT NOT NULL,
    query_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    PRIMARY KEY (key, query_id, document_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS labels (
    id INTEGER PRIMARY KEY,
    query_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    grade INTEGER NOT NULL,
    at TEXT NOT NULL,
    origin TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS labels_by_query ON labels (query_id);
-- The judgement store only grows.
CREATE TRIGGER IF NOT EXISTS attempts_no_update
    BEFORE UPDATE ON attempts
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER IF NOT EXISTS attempts_no_delete
    BEFORE DELETE ON attempts
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER IF NOT EXISTS questions_no_update
    BEFORE UPDATE ON questions
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER IF NOT EXISTS questions_no_delete
    BEFORE DELETE ON questions
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER IF NOT EXISTS labels_no_update
    BEFORE UPDATE ON labels
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER IF NOT EXISTS labels_no_delete
    BEFORE DELETE ON labels
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
