import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { ServerConfig } from '../../bin/programs/server-config.ts';
import { startTestServer } from '../support/server.ts';

/** A JSON document; tests of a wire look into it without types. */
// biome-ignore lint/suspicious/noExplicitAny: what a foreign program sees has no types of this one
export type Json = any;

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: Json;
}

/** A program of other make: plain HTTP, and nothing that this code base offers to clients. */
export class Foreigner {
  readonly url: string;
  readonly #headers: Record<string, string>;

  constructor(url: string, token?: string) {
    this.url = url;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  async ask(line: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const [method = '', path = ''] = line.split(' ');
    const isText = typeof body === 'string' || body instanceof FormData;
    const answer = await fetch(this.url + path, {
      method,
      headers: {
        ...this.#headers,
        ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : isText ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type') === 'application/json';
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      json: isJson ? JSON.parse(text) : undefined,
    };
  }

  /** The JSON of an answer that has to be 200. */
  async get(line: string, body?: unknown): Promise<Json> {
    const { status, text, json } = await this.ask(line, body);
    assert.equal(status, 200, `${line}: ${text}`);
    return json;
  }

  /** Status and code of an answer that has to be an error, in the form of all errors. */
  async refusal(
    line: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<[number, string]> {
    const { status, text, json } = await this.ask(line, body, headers);
    assert.ok(status >= 400, `${line} was answered ${status}: ${text}`);
    assert.equal(typeof json.detail, 'string', text);
    return [status, json.code];
  }

  async upload(path: string, content: string, filename = 'file.bin'): Promise<Json> {
    const form = new FormData();
    form.set('file', new Blob([content]), filename);
    return this.get(`POST ${path}`, form);
  }

  async submit(changes: Json = {}): Promise<Json> {
    return this.get('POST /v1/jobs', { ...JOB, ...changes });
  }

  /** Registers a worker that has the library `demo`. */
  async register(changes: Json = {}): Promise<string> {
    const version = { packages: { demo: '1.0', nirs4all: '0.6' } };
    return (await this.get('POST /v1/workers/register', { name: 'w', slots_total: 1, version, ...changes }))
      .worker_id;
  }

  async lease(worker: string, body: Json = {}): Promise<Json> {
    return (await this.get(`POST /v1/workers/${worker}/lease`, body)).task;
  }

  /** Leases the next task and starts it. */
  async take(worker: string): Promise<Json> {
    const task = await this.lease(worker);
    await this.get(`POST /v1/tasks/${task.task_id}/start?worker_id=${worker}&attempt=${task.attempt}`);
    return task;
  }

  complete(task: Json, worker: string, result: unknown = {}): Promise<Json> {
    return this.get(`POST /v1/tasks/${task.task_id}/complete?worker_id=${worker}`, result);
  }

  events(job: Json): Promise<Json> {
    return this.get(`GET /v1/jobs/${job.id}/events`);
  }
}

export const JOB = {
  type: 'demo.run',
  pipeline: { kind: 'inline_json', inline: [{ step: 'snv' }] },
  dataset: { kind: 'shared_path', path: '/data/corn' },
};

/** A program of other make at a real server. */
export async function foreigner(t: TestContext, config: Partial<ServerConfig> = {}): Promise<Foreigner> {
  const server = await startTestServer(t, config);
  return new Foreigner(server.url, config.token);
}

/** The same, with a worker that has started the task of a job. */
export async function foreignTask(t: TestContext) {
  const client = await foreigner(t);
  const job = await client.submit();
  const worker = await client.register();
  return { client, job, worker, task: await client.take(worker) };
}

export const eventOf = (events: Json, type: string): Json =>
  events.find((event: Json) => event.type === type);
