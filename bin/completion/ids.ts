import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';

export type IdKind = 'jobs' | 'actors' | 'tasks';
type Env = Record<string, string | undefined>;

/** A person who pressed Tab waits no longer, in milliseconds. */
const PATIENCE = 1500;
const MOST = 100;

/**
 * What a shell offers where an id is asked for: lines of an id, a tab and what it is, newest first. Nothing at
 * all when the server is away, slow or refuses: a shell that completes has no place for messages.
 *
 * It does without the client and all that comes with it, so that the answer is there at once.
 * @param line the command line so far, for the server, the token and the job that it names
 */
export async function idLines(kind: string, line: string, env: Env): Promise<string> {
  const words = line.split(/\s+/).map((word) => word.replace(/^(['"])(.*)\1$/, '$2'));
  const server = option(words, '--server') || env.JQ_SERVER || 'http://127.0.0.1:8765';
  const token = option(words, '--token') || env.JQ_TOKEN;
  try {
    const signal = AbortSignal.timeout(PATIENCE);
    const ask = (path: string) => read(new URL(server.replace(/\/+$/, '') + path), token, signal);
    const rows = await ROWS[kind as IdKind](ask, words);
    // Ids are put into command lines: one that is more than an id is left out.
    const safe = rows.filter(([id]) => /^[\w.-]+$/.test(id));
    return safe.map(([id, what]) => `${id}\t${what.replace(/[\p{C}\p{Z}]+/gu, ' ').trim()}\n`).join('');
  } catch {
    return '';
  }
}

type Row = [id: string, what: string];
type Ask = (path: string) => Promise<Record<string, unknown>[]>;

const ROWS: Record<IdKind, (ask: Ask, words: string[]) => Promise<Row[]>> = {
  jobs: async (ask) => (await ask(`/v1/jobs?limit=${MOST}`)).map(rowOf),
  async actors(ask, words) {
    const [jobs, workers] = await Promise.all([ROWS.jobs(ask, words), ask('/v1/workers')]);
    return [['supervisor', 'of the server'], ...workers.map(rowOf), ...jobs];
  },
  async tasks(ask, words) {
    const job = words.find((word) => word.startsWith('job_'));
    if (job === undefined) return [];
    const tasks = await ask(`/v1/jobs/${encodeURIComponent(job)}/tasks?limit=${MOST}`);
    return tasks.map((task) => rowOf({ ...task, name: `${task.pipeline_label} × ${task.dataset_label}` }));
  },
};

const rowOf = ({ id, status, name }: Record<string, unknown>): Row => [
  String(id),
  `${status}${name ? ` ${name}` : ''}`,
];

/** The value of a flag, as one word or two. */
function option(words: string[], flag: string): string | undefined {
  const at = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  return words[at] === flag ? words[at + 1] : words[at]?.slice(flag.length + 1);
}

function read(url: URL, token: string | undefined, signal: AbortSignal): Promise<Record<string, unknown>[]> {
  return new Promise((resolve, reject) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const get = url.protocol === 'https:' ? httpsGet : httpGet;
    const request = get(url, { headers, signal, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece: string) => {
        text += piece;
      });
      answer.on('error', reject);
      answer.on('end', () => {
        try {
          resolve(JSON.parse(text) as Record<string, unknown>[]);
        } catch (fault) {
          reject(fault);
        }
      });
    });
    request.on('error', reject);
  });
}
