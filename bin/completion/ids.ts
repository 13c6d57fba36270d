import { readFileSync } from 'node:fs';
import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { type Named, referredTo } from '../../machines/protocol/reference.ts';

export type IdKind = 'jobs' | 'actors' | 'tasks' | 'workers';
type Env = Record<string, string | undefined>;

/** Milliseconds that a person who pressed Tab waits at most. */
const TIMEOUT_MS = 1500;
const MOST = 100;

/**
 * What a shell offers where an id is asked for: lines of a name or an id, a tab and what it is, newest first. Nothing
 * at all when the server is away, slow or refuses: a shell that completes has no place for messages.
 *
 * It does without the client and all that comes with it, so that the answer is there at once.
 * @param line the command line so far, for the server, the token and the job that it names
 */
export async function idLines(kind: string, line: string, env: Env): Promise<string> {
  const words = line.split(/\s+/).map((word) => word.replace(/^(['"])(.*)\1$/, '$2'));
  const servers = (option(words, '--server') || env.JQ_SERVER || 'http://127.0.0.1:8765').split(',');
  try {
    const token = tokenFor(words, env);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const ca = option(words, '--ca') || env.JQ_CA;
    const how = { token, signal, ...(ca ? { ca: readFileSync(ca) } : {}) };
    const ask = (path: string) => readFrom(servers, path, how);
    const rows = await ROWS[kind as IdKind](ask, words);
    // Ids are put into command lines: one that is more than an id is left out.
    const safe = rows.filter(([id]) => /^[\w.-]+$/.test(id));
    return safe.map(([id, what]) => `${id}\t${what.replace(/[\p{C}\p{Z}]+/gu, ' ').trim()}\n`).join('');
  } catch {
    return '';
  }
}

/** As `tokenOf` finds it. */
function tokenFor(words: string[], env: Env): string | undefined {
  const file = option(words, '--token-file');
  return file ? readFileSync(file, 'utf8').trim() : option(words, '--token') || env.JQ_TOKEN;
}

type Row = [id: string, what: string];
type Listed = Record<string, unknown>;
type Ask = (path: string) => Promise<Listed[]>;

const ROWS: Record<IdKind, (ask: Ask, words: string[]) => Promise<Row[]>> = {
  jobs: async (ask) => withNames(await ask(`/v1/jobs?limit=${MOST}`)),
  workers: async (ask) => withNames(await ask('/v1/workers')),
  async actors(ask) {
    const [jobs, workers] = await Promise.all([ask(`/v1/jobs?limit=${MOST}`), ask('/v1/workers')]);
    return [['supervisor', 'of the server'], ...withNames([...workers, ...jobs])];
  },
  async tasks(ask, words) {
    const job = await jobOf(ask, words);
    if (job === undefined) return [];
    const tasks = await ask(`/v1/jobs/${encodeURIComponent(job)}/tasks?limit=${MOST}`);
    return tasks.map((task) => rowOf({ ...task, name: `${task.pipeline_label} × ${task.dataset_label}` }));
  },
};

/** Names first, which people know, as far as each means one alone; then the ids. */
function withNames(list: Listed[]): Row[] {
  const called = (name: unknown) => list.filter((other) => same(other.name, name)).length;
  const names = list.filter(({ name }) => typeof name === 'string' && called(name) === 1);
  return [
    ...names.map(({ id, status, name }): Row => [String(name), `${status} …${String(id).slice(-8)}`]),
    ...list.map(rowOf),
  ];
}

const same = (a: unknown, b: unknown) => String(a).toLowerCase() === String(b).toLowerCase();

/** The id of the job that a command line names, as its command would find it. */
async function jobOf(ask: Ask, words: string[]): Promise<string | undefined> {
  // What belongs to a flag is no job; the two that may stand before are known.
  const named = words
    .slice(2)
    .filter((word, i, rest) => !word.startsWith('-') && !FLAGS_WITH_JOB.has(rest[i - 1] ?? ''));
  const text = named.find((word) => word !== '');
  if (text !== undefined && /^job_[0-9a-z]{26}$/.test(text)) return text;
  if (text !== undefined) {
    const listed = await ask(`/v1/jobs?limit=${MOST}&ref=${encodeURIComponent(text)}`);
    const found = referredTo(text, listed as unknown as Named[]);
    return found.length === 1 ? found[0]?.id : undefined;
  }
  if (!words.includes('--last')) return undefined;
  const { principal } = (await ask('/v1/me')) as unknown as { principal: string };
  const [last] = await ask(`/v1/jobs?limit=1&owner=${encodeURIComponent(principal)}`);
  return last && String(last.id);
}

/** Flags before which no job stands, of the commands that take tasks. */
const FLAGS_WITH_JOB = new Set([
  '--server',
  '--token',
  '--token-file',
  '--ca',
  '--task',
  '--out',
  '--role',
  '--timeout',
]);

const rowOf = ({ id, status, name }: Listed): Row => [String(id), `${status}${name ? ` ${name}` : ''}`];

/** The value of a flag, as one word or two. */
function option(words: string[], flag: string): string | undefined {
  const at = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  return words[at] === flag ? words[at + 1] : words[at]?.slice(flag.length + 1);
}

interface How {
  token: string | undefined;
  signal: AbortSignal;
  ca?: Buffer;
}

/** What the first server says that can say something. */
function readFrom([server = '', ...others]: string[], path: string, how: How): Promise<Listed[]> {
  const reading = read(new URL(server.trim().replace(/\/+$/, '') + path), how);
  return others.length === 0 ? reading : reading.catch(() => readFrom(others, path, how));
}

function read(url: URL, { token, ...how }: How): Promise<Record<string, unknown>[]> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const get = url.protocol === 'https:' ? httpsGet : httpGet;
    const request = get(url, { headers, ...how, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece: string) => {
        text += piece;
      });
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode !== 200) return reject(new Error(`answered ${answer.statusCode}`));
        try {
          resolve(JSON.parse(text) as Record<string, unknown>[]);
        } catch (error) {
          reject(error);
        }
      });
    });
    request.on('error', reject);
  });
}
