-- Finds the jobs whose name contains a text, among any number of jobs. The names stay in the jobs' rows.
CREATE VIRTUAL TABLE job_names USING fts5 (
  name_folded, content = 'jobs', content_rowid = 'seq', tokenize = 'trigram case_sensitive 1', columnsize = 0
);
INSERT INTO job_names (rowid, name_folded) SELECT seq, name_folded FROM jobs WHERE name_folded IS NOT NULL;
