CREATE TABLE attempts (
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
    CHECK ((grade IS NULL) <> (failure IS NULL))
);
INSERT INTO "attempts" VALUES(1,'cec694f9a1134bbabd33f632ab1fbbfd','b2b821ca38d9a5dfeff44570a044ca7fe570e014ae8a7fa859c0f7094616b4e6','2026-11-22T12:21:48.224+00:00','judge',3,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 3}',100,20,NULL,NULL,0.0001,'scripted',NULL,NULL);
INSERT INTO "attempts" VALUES(2,'89619446cfe248b0919cff72127a2167','978d8a12960086b1bac983995fda93bfcbb04df8cb4b3e2460c6b9c5286f8f52','2026-11-22T12:21:48.225+00:00','judge',NULL,NULL,'length','cut off',NULL,100,50,NULL,NULL,0.0001,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES(3,'794d854a83554610a22d00cf07d15178','9a74d8368b12b7ca39f31cab0665590cf51bae6ae5c69351a36e14be5648d0ff','2026-11-22T12:21:48.231+00:00','judge',2,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 2}',100,20,NULL,NULL,0.0001,'scripted',NULL,NULL);
INSERT INTO "attempts" VALUES(4,'54ab57cfe4a14df4bd8a723eaf526125','abb768bccd49fcbe0764abb634875ed51b7ca2da15b2456d83410c1600aaeac6','2026-11-22T12:21:48.231+00:00','judge',NULL,NULL,'length','cut off',NULL,100,50,NULL,NULL,0.0001,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES(5,'b0d4c1b9936b40d4b3a78ed906dca9ab','d6b3fb4cca75dad8fd0f53fd2556a5720da08f5a4aae1e5e332efa294cbcc8ec','2026-11-22T12:21:48.237+00:00','judge',1,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 1}',100,20,NULL,NULL,0.0001,'scripted',NULL,NULL);
INSERT INTO "attempts" VALUES(6,'ee9d685734944b2d86967e5d0fd0a040','3e455f37a35c8413e61fabf498a9d641304ae4153d29872763c2f4728a7e4b49','2026-11-22T12:21:48.237+00:00','judge',NULL,NULL,'length','cut off',NULL,100,50,NULL,NULL,0.0001,NULL,NULL,NULL);
INSERT INTO "attempts" VALUES(7,'8aa09b744765498abdf0b5009b660125','fd3084487928981f182d272a8be070fff8e4df3817754e4365ab3b9ee548b7ef','2026-11-22T12:21:48.243+00:00','judge',0,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 0}',100,20,NULL,NULL,0.0001,'scripted',NULL,NULL);
INSERT INTO "attempts" VALUES(8,'46fdc81b656c4a629c941d13f2244d86','25aa4849c827ccba9fc4608a6c9168ad5b6a1a6bdbc6c57373dd5c53561ad7b5','2026-11-22T12:21:48.243+00:00','judge',NULL,NULL,'length','cut off',NULL,100,50,NULL,NULL,0.0001,NULL,NULL,NULL);
CREATE TABLE labels (
    id INTEGER PRIMARY KEY,
    query_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    grade INTEGER NOT NULL,
    at TEXT NOT NULL,
    origin TEXT NOT NULL
);
CREATE TABLE pairs (
    key TEXT NOT NULL,
    query_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    PRIMARY KEY (key, query_id, document_id)
) WITHOUT ROWID;
INSERT INTO "pairs" VALUES('25aa4849c827ccba9fc4608a6c9168ad5b6a1a6bdbc6c57373dd5c53561ad7b5','q1','d2');
INSERT INTO "pairs" VALUES('3e455f37a35c8413e61fabf498a9d641304ae4153d29872763c2f4728a7e4b49','q1','d2');
INSERT INTO "pairs" VALUES('978d8a12960086b1bac983995fda93bfcbb04df8cb4b3e2460c6b9c5286f8f52','q1','d2');
INSERT INTO "pairs" VALUES('9a74d8368b12b7ca39f31cab0665590cf51bae6ae5c69351a36e14be5648d0ff','q1','d1');
INSERT INTO "pairs" VALUES('abb768bccd49fcbe0764abb634875ed51b7ca2da15b2456d83410c1600aaeac6','q1','d2');
INSERT INTO "pairs" VALUES('b2b821ca38d9a5dfeff44570a044ca7fe570e014ae8a7fa859c0f7094616b4e6','q1','d1');
INSERT INTO "pairs" VALUES('d6b3fb4cca75dad8fd0f53fd2556a5720da08f5a4aae1e5e332efa294cbcc8ec','q1','d1');
INSERT INTO "pairs" VALUES('fd3084487928981f182d272a8be070fff8e4df3817754e4365ab3b9ee548b7ef','q1','d1');
CREATE TABLE questions (
    key TEXT PRIMARY KEY,
    material TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO "questions" VALUES('25aa4849c827ccba9fc4608a6c9168ad5b6a1a6bdbc6c57373dd5c53561ad7b5','{"asks":"support","client":{"args":{"num_predict":7},"base_url":null,"model":"m","provider":"langchain:tests.judging.test_keys.Loose"},"document":"We open at nine.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"0f688852dad409f6","id":"support-en-1","language":"en"}}');
INSERT INTO "questions" VALUES('3e455f37a35c8413e61fabf498a9d641304ae4153d29872763c2f4728a7e4b49','{"asks":"support","client":{"args":{"model_kwargs":"6078528a57aa87e2"},"base_url":"http://b","max_tokens":9,"model":"m","provider":"langchain:tests.judging.test_keys.Chat"},"document":"We open at nine.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"0f688852dad409f6","id":"support-en-1","language":"en"}}');
INSERT INTO "questions" VALUES('978d8a12960086b1bac983995fda93bfcbb04df8cb4b3e2460c6b9c5286f8f52','{"asks":"support","client":{"base_url":"http://localhost:8000/v1","extra_body":{"max_tokens":50,"top_k":1},"max_completion_tokens":50,"model":"gpt-4.1-mini","provider":"openai","temperature":0.0},"document":"We open at nine.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"0f688852dad409f6","id":"support-en-1","language":"en"}}');
INSERT INTO "questions" VALUES('9a74d8368b12b7ca39f31cab0665590cf51bae6ae5c69351a36e14be5648d0ff','{"asks":"support","client":{"base_url":"http://localhost:8000/v1","extra_body":{"max_tokens":50,"top_k":1},"max_completion_tokens":80,"model":"gpt-4.1-mini","provider":"openai","temperature":0.0},"document":"You are paid back in two weeks.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"0f688852dad409f6","id":"support-en-1","language":"en"}}');
INSERT INTO "questions" VALUES('abb768bccd49fcbe0764abb634875ed51b7ca2da15b2456d83410c1600aaeac6','{"asks":"support","client":{"base_url":"http://localhost:8000/v1","extra_body":{"max_tokens":50,"top_k":1},"max_completion_tokens":80,"model":"gpt-4.1-mini","provider":"openai","temperature":0.0},"document":"We open at nine.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"0f688852dad409f6","id":"support-en-1","language":"en"}}');
INSERT INTO "questions" VALUES('b2b821ca38d9a5dfeff44570a044ca7fe570e014ae8a7fa859c0f7094616b4e6','{"asks":"support","client":{"base_url":"http://localhost:8000/v1","extra_body":{"max_tokens":50,"top_k":1},"max_completion_tokens":50,"model":"gpt-4.1-mini","provider":"openai","temperature":0.0},"document":"You are paid back in two weeks.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"0f688852dad409f6","id":"support-en-1","language":"en"}}');
INSERT INTO "questions" VALUES('d6b3fb4cca75dad8fd0f53fd2556a5720da08f5a4aae1e5e332efa294cbcc8ec','{"asks":"support","client":{"args":{"model_kwargs":"6078528a57aa87e2"},"base_url":"http://b","max_tokens":9,"model":"m","provider":"langchain:tests.judging.test_keys.Chat"},"document":"You are paid back in two weeks.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"0f688852dad409f6","id":"support-en-1","language":"en"}}');
INSERT INTO "questions" VALUES('fd3084487928981f182d272a8be070fff8e4df3817754e4365ab3b9ee548b7ef','{"asks":"support","client":{"args":{"num_predict":7},"base_url":null,"model":"m","provider":"langchain:tests.judging.test_keys.Loose"},"document":"You are paid back in two weeks.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"0f688852dad409f6","id":"support-en-1","language":"en"}}');
CREATE INDEX attempts_by_key ON attempts (key);
CREATE INDEX labels_by_query ON labels (query_id);
CREATE TRIGGER attempts_no_update
    BEFORE UPDATE ON attempts
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER attempts_no_delete
    BEFORE DELETE ON attempts
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER questions_no_update
    BEFORE UPDATE ON questions
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER questions_no_delete
    BEFORE DELETE ON questions
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER labels_no_update
    BEFORE UPDATE ON labels
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER labels_no_delete
    BEFORE DELETE ON labels
    BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
PRAGMA user_version = 1;
