-- Whether an artifact names these bytes is asked before they are removed.
CREATE INDEX artifacts_sha256 ON artifacts (sha256);
