/** What of the environment reaches the specifications: where programs and files are, and what `.ci/run` names. */
const KEPT = [
  'PATH',
  'TMPDIR',
  'CHROMIUM_PATH',
  'JQ_TEST_PYTHON',
  'JQ_TEST_S3',
  'JQ_TEST_STORE',
  'LD_LIBRARY_PATH',
  // Without these, Windows starts hardly a program.
  ...['SystemRoot', 'ComSpec', 'PATHEXT', 'TEMP', 'TMP', 'LOCALAPPDATA'],
];

/** The same for everybody, so that no sentence, number or time depends on who runs the specifications. */
const FIXED = { LANG: 'C.UTF-8', TZ: 'UTC', TERM: 'dumb' };

/**
 * The environment in which the specifications run. Whatever else is set (a server and a token in JQ_*, proxies,
 * options of Node, a language, the settings in somebody's home) does not reach them.
 * @param home an empty folder
 */
export function cleanEnvironment(given: NodeJS.ProcessEnv, home: string): Record<string, string> {
  const kept = KEPT.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name] as string]]));
  return { ...Object.fromEntries(kept), ...FIXED, HOME: home, USERPROFILE: home };
}
