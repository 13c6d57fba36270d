/** The credential, and the folder in which systemd has laid it out. */
const SECRET = new Set(['JQ_TOKEN', 'CREDENTIALS_DIRECTORY']);

/**
 * The environment of what a worker starts: its own, without its credential. On Windows the case of a name says
 * nothing, so whoever asks for `JQ_TOKEN` there gets `jq_token`.
 */
export function withoutToken(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SECRET.has(name.toUpperCase())));
}

/**
 * The same for the processes of a task, with the Node.js of this program, by which runners in other languages have tables
 * read. Python must not hold its lines back.
 */
export function childEnvironment(): NodeJS.ProcessEnv {
  return { PYTHONUNBUFFERED: '1', ...withoutToken(), JQ_NODE: process.execPath };
}
