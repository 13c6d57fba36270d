/** What the processes of a task inherit: the worker's, without its credential. Python shall not hold its lines back. */
export function childEnvironment(): NodeJS.ProcessEnv {
  const { JQ_TOKEN: _, ...rest } = process.env;
  return { PYTHONUNBUFFERED: '1', ...rest };
}
