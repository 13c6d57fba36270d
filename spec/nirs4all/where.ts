import { fileURLToPath } from 'node:url';

/** The interpreter with nirs4all that tests and bench use; `setup.sh` makes it. */
export const PYTHON =
  process.env.JQ_TEST_PYTHON || fileURLToPath(new URL('../../.venv/bin/python', import.meta.url));
