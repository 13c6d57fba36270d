-- What servers have to be told alike, as JSON: names and values, of credentials a byte of the digest alone. NULL where a server
-- has not said it, as an earlier one.
ALTER TABLE servers ADD COLUMN configuration text COLLATE "C";
