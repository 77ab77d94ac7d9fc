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
    CHECK ((grade IS NULL) <> (failure IS NULL))
);
INSERT INTO "attempts" VALUES(1,'3a372c19f4bb40b88bc4b8f97dce2a93','ff4969ddcf22c81434ce5e62ccd70d7f8edd52d0b9b9d5b1fa129d39bd314fd7','2026-11-22T01:46:54.550+00:00','judge',3,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 3}',100,20,NULL,NULL,0.0001,'scripted',NULL);
INSERT INTO "attempts" VALUES(2,'82f93505f8434dc98dbf0c0840abe96c','0afb8c30da7a2139ba72c7cba9b75286f4aa5e5e15b382f33d60d06b615ef85c','2026-11-22T01:46:54.550+00:00','judge',2,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 2}',100,20,NULL,NULL,0.0001,'scripted',NULL);
INSERT INTO "attempts" VALUES(3,'0b2f84480f6f463190f6df0ae43ed1eb','a2905f207f3dfa5e871e3ae6d5f68f70afae7af1e0de4013ebc38bb105c172ab','2026-11-22T01:46:54.551+00:00','judge',0,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 0}',100,20,NULL,NULL,0.0001,'scripted',NULL);
INSERT INTO "attempts" VALUES(4,'48dce00e612447b28a780365129ea601','88c6fe15a4b9e3dae8579b0ca9ef930ade47b3df412adee5e55d4182c0a3528c','2026-11-22T01:46:54.551+00:00','judge',3,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 3}',100,20,NULL,NULL,0.0,'scripted',NULL);
INSERT INTO "attempts" VALUES(5,'53c85f845eb14c059223cd1796fde169','a594ebf35b13f615a8fe77dc422ebab7f153b8d90b5f7199e45034fd323827c0','2026-11-22T01:46:54.551+00:00','judge',NULL,NULL,'refusal','no',NULL,NULL,NULL,NULL,NULL,0.0,NULL,NULL);
INSERT INTO "attempts" VALUES(6,'185e21f25cda44f29e79f8a9f7b71a27','e6ae2ec93afe5cd8ce535ede0910b4bef5dbe0b9a105e76bd9d7ed6e369d3589','2026-11-22T01:46:54.575+00:00','judge',2,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 2}',100,20,NULL,NULL,0.0001,'scripted',NULL);
INSERT INTO "attempts" VALUES(7,'e98280577550463e9870975f769e16d1','1e7e99f74fc3950ce634d57e2141070dca2ce3014780e250f5a86846ec8d18ef','2026-11-22T01:46:54.575+00:00','judge',1,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 1}',100,20,NULL,NULL,0.0001,'scripted',NULL);
INSERT INTO "attempts" VALUES(8,'cdfd51bcbd9f4b5abeeca7692763a266','562b634978048c909b68e7dfa7109678d3547d07742606319a9664875c3f6502','2026-11-22T01:46:54.594+00:00','judge',1,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 1}',100,20,NULL,NULL,0.0001,'scripted',NULL);
INSERT INTO "attempts" VALUES(9,'df69abec9b44443597c12a47dede3131','f23333b6a23cd9116971b222877796c49b28e1a7e6d720424d814c8be0643606','2026-11-22T01:46:54.595+00:00','judge',3,'as scripted',NULL,NULL,'{"reason": "as scripted", "grade": 3}',100,20,NULL,NULL,0.0,'scripted',NULL);
CREATE TABLE labels (
    id INTEGER PRIMARY KEY,
    query_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    grade INTEGER NOT NULL,
    at TEXT NOT NULL,
    origin TEXT NOT NULL
);
INSERT INTO "labels" VALUES(1,'q1','d3',1,'2026-11-22T01:46:54.607+00:00','labels.qrels');
CREATE TABLE pairs (
    key TEXT NOT NULL,
    query_id TEXT NOT NULL,
    document_id TEXT NOT NULL,
    PRIMARY KEY (key, query_id, document_id)
) WITHOUT ROWID;
INSERT INTO "pairs" VALUES('0afb8c30da7a2139ba72c7cba9b75286f4aa5e5e15b382f33d60d06b615ef85c','q2','d2');
INSERT INTO "pairs" VALUES('1e7e99f74fc3950ce634d57e2141070dca2ce3014780e250f5a86846ec8d18ef','q2','d2');
INSERT INTO "pairs" VALUES('562b634978048c909b68e7dfa7109678d3547d07742606319a9664875c3f6502','q1','d1');
INSERT INTO "pairs" VALUES('88c6fe15a4b9e3dae8579b0ca9ef930ade47b3df412adee5e55d4182c0a3528c','q3','text-a06080bf3439da64');
INSERT INTO "pairs" VALUES('a2905f207f3dfa5e871e3ae6d5f68f70afae7af1e0de4013ebc38bb105c172ab','q1','d3');
INSERT INTO "pairs" VALUES('e6ae2ec93afe5cd8ce535ede0910b4bef5dbe0b9a105e76bd9d7ed6e369d3589','q1','d1');
INSERT INTO "pairs" VALUES('f23333b6a23cd9116971b222877796c49b28e1a7e6d720424d814c8be0643606','q2','d2');
INSERT INTO "pairs" VALUES('ff4969ddcf22c81434ce5e62ccd70d7f8edd52d0b9b9d5b1fa129d39bd314fd7','q1','d1');
CREATE TABLE questions (
    key TEXT PRIMARY KEY,
    material TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO "questions" VALUES('0afb8c30da7a2139ba72c7cba9b75286f4aa5e5e15b382f33d60d06b615ef85c','{"asks":"support","client":{"base_url":null,"model":"scripted","provider":"scripted"},"document":"환불은 14일 안에 <<<됩니다>>>.","gold":"환불은 14일 안에 됩니다.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"def6205eb3d77936","id":"support-ko-1","language":"ko"}}');
INSERT INTO "questions" VALUES('1e7e99f74fc3950ce634d57e2141070dca2ce3014780e250f5a86846ec8d18ef','{"asks":"support","client":{"base_url":"https://api.openai.com/v1","max_completion_tokens":2048,"model":"gpt-4.1-mini","provider":"openai","temperature":0.0},"document":"환불은 14일 안에 <<<됩니다>>>.","gold":"환불은 14일 안에 됩니다.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"def6205eb3d77936","id":"support-ko-1","language":"ko"}}');
INSERT INTO "questions" VALUES('562b634978048c909b68e7dfa7109678d3547d07742606319a9664875c3f6502','{"asks":"support","client":{"base_url":"http://localhost:8000/v1","max_completion_tokens":2048,"model":"o3","provider":"openai","reasoning_effort":"low","seed":7},"document":"You are paid back in two weeks.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"0f688852dad409f6","id":"support-en-1","language":"en"}}');
INSERT INTO "questions" VALUES('88c6fe15a4b9e3dae8579b0ca9ef930ade47b3df412adee5e55d4182c0a3528c','{"asks":"relevance","client":{"base_url":null,"model":"scripted","provider":"scripted"},"document":"아홉 시에 엽니다.","gold":null,"prompt":1,"query":"언제 여나요?","reference":null,"repeat":0,"rubric":{"digest":"39c62dd56f48b34f","id":"relevance-ko-1","language":"ko"}}');
INSERT INTO "questions" VALUES('a2905f207f3dfa5e871e3ae6d5f68f70afae7af1e0de4013ebc38bb105c172ab','{"asks":"relevance","client":{"base_url":null,"model":"scripted","provider":"scripted"},"document":"We open at nine.","gold":null,"prompt":1,"query":"When are refunds paid?","reference":"Refunds are paid within 14 days.","repeat":0,"rubric":{"digest":"f8321a141010a51f","id":"relevance-en-1","language":"en"}}');
INSERT INTO "questions" VALUES('a594ebf35b13f615a8fe77dc422ebab7f153b8d90b5f7199e45034fd323827c0','{"asks":"support","client":{"base_url":null,"model":"scripted","provider":"scripted"},"document":"Refunds are paid within 14 days.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"ebf93274d2199b1b","id":"contract-2","language":"en"}}');
INSERT INTO "questions" VALUES('e6ae2ec93afe5cd8ce535ede0910b4bef5dbe0b9a105e76bd9d7ed6e369d3589','{"asks":"support","client":{"base_url":"https://api.openai.com/v1","max_completion_tokens":2048,"model":"gpt-4.1-mini","provider":"openai","temperature":0.0},"document":"You are paid back in two weeks.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"0f688852dad409f6","id":"support-en-1","language":"en"}}');
INSERT INTO "questions" VALUES('f23333b6a23cd9116971b222877796c49b28e1a7e6d720424d814c8be0643606','{"asks":"support","client":{"base_url":"http://localhost:8000/v1","max_completion_tokens":2048,"model":"o3","provider":"openai","reasoning_effort":"low","seed":7},"document":"환불은 14일 안에 <<<됩니다>>>.","gold":"환불은 14일 안에 됩니다.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"def6205eb3d77936","id":"support-ko-1","language":"ko"}}');
INSERT INTO "questions" VALUES('ff4969ddcf22c81434ce5e62ccd70d7f8edd52d0b9b9d5b1fa129d39bd314fd7','{"asks":"support","client":{"base_url":null,"model":"scripted","provider":"scripted"},"document":"You are paid back in two weeks.","gold":"Refunds are paid within 14 days.","prompt":1,"query":null,"reference":null,"repeat":0,"rubric":{"digest":"0f688852dad409f6","id":"support-en-1","language":"en"}}');
CREATE INDEX attempts_by_key ON attempts (key);
CREATE INDEX labels_by_query ON labels (query_id);
CREATE TRIGGER attempts_no_update BEFORE UPDATE ON attempts BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER attempts_no_delete BEFORE DELETE ON attempts BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER questions_no_update BEFORE UPDATE ON questions BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER questions_no_delete BEFORE DELETE ON questions BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER labels_no_update BEFORE UPDATE ON labels BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
CREATE TRIGGER labels_no_delete BEFORE DELETE ON labels BEGIN SELECT RAISE(ABORT, 'the judgement store only grows'); END;
PRAGMA user_version = 1;
