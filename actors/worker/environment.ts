/**
 * The environment of what a worker starts: its own, without its credential. On Windows the case of a name says
 * nothing, so whoever asks for `JQ_TOKEN` there gets `jq_token`.
 */
export function withoutToken(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name.toUpperCase() !== 'JQ_TOKEN'));
}

/** The same for the processes of a task. Python shall not hold its lines back. */
export function childEnvironment(): NodeJS.ProcessEnv {
  return { PYTHONUNBUFFERED: '1', ...withoutToken() };
}
