import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { headStatement, jobHeads, queriesOf, referred } from '../../actors/server/reads/job-heads.ts';
import { countStatement, waysOf } from '../../actors/server/reads/job-ways.ts';
import { openReader } from '../../actors/server/store/open.ts';
import { PreparedStatements } from '../../actors/server/store/prepared-statements.ts';
import { textOf } from '../../actors/server/store/sql.ts';
import type { JobQuery } from '../../gateway/backend.ts';
import type { JobView } from '../../machines/schema/views.ts';
import { job, TestCluster } from '../support/cluster.ts';
import { ODD_DOUBLES } from '../support/doubles.ts';
import { sweep } from '../support/job.ts';
import { textOf as textOfPieces } from '../support/views.ts';

interface Ranked {
  best_rmse: number;
  metrics: { best_rmse: number };
}

/** Finishes every task of the queue with these metrics, one after the other. */
async function finish(cluster: TestCluster, metrics: Record<string, unknown>[]): Promise<void> {
  const worker = await cluster.register({ slots_total: 1 });
  for (const values of metrics) await worker.complete(await worker.run(), { metrics: values } as never);
}

describe('lists that the store composes hold exactly what was reported', () => {
  test('every double comes back as the same double, and ranks where it belongs', async (t) => {
    const cluster = await TestCluster.start(t);
    const edges = [
      0.1 + 0.2,
      1e22,
      -0.5,
      5e-324,
      1.7976931348623157e308,
      3,
      -0,
      123456789.12345678,
      // Millionths, of which SQLite is sure, and their neighbours.
      ...[0, 0.2154, 1e-6, 1e-7, 0.000001234, 5e9 + 0.000001, 9e9, 9_007_199_254.740993, -0.2154, 1e15, 1e21],
      ...ODD_DOUBLES,
    ];
    const drawn = fc.sample(fc.double({ noNaN: true, noDefaultInfinity: true }), { numRuns: 60, seed: 7 });
    const values = [...edges, ...drawn];
    const { id } = await cluster.submit(sweep(values.length));
    await finish(
      cluster,
      values.map((best_rmse) => ({ best_rmse })),
    );
    const ranking = (await cluster.job(id)).aggregate.ranking as unknown as Ranked[];
    const ranked = ranking.map((entry) => entry.best_rmse);
    assert.deepEqual(
      ranked,
      [...ranked].sort((a, b) => a - b),
    );
    assert.deepEqual(new Set(ranked), new Set(values.map((value) => (Object.is(value, -0) ? 0 : value))));
    for (const { best_rmse, metrics } of ranking) {
      assert.equal(metrics.best_rmse, best_rmse);
    }
    const text = await textOfPieces(cluster.port.reads.ranking({ job_id: id, csv: false }));
    assert.equal(text, JSON.stringify(JSON.parse(text)), 'each as JavaScript writes it');
  });

  test('times come back to the microsecond', async (t) => {
    const cluster = await TestCluster.start(t);
    await Promise.all([cluster.submit(), cluster.submit(), cluster.submit()]);
    for (const { id, created_at } of await cluster.seen.jobs({ limit: 10 })) {
      assert.equal((await cluster.onlyTask(id)).created_at, created_at);
    }
  });

  test('text of any kind comes back unchanged', async (t) => {
    const cluster = await TestCluster.start(t);
    const error = 'line "one"\n\ttwo \\ \u0000 \u001b[31m ü 漢字 🧪 </script>';
    const { id } = await cluster.submit(job({ retry: { max_attempts: 1 } }));
    const worker = await cluster.register();
    const task = await worker.run();
    await worker.fail(task, { error });
    assert.equal((await cluster.onlyTask(id)).error, error);
    assert.deepEqual((await cluster.job(id)).aggregate.errors, { [task.task_id]: error });
  });

  test('a result that is nested deeper than the store reads is listed, without its metrics', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit();
    const deep = JSON.parse(`${'['.repeat(3000)}${']'.repeat(3000)}`) as unknown;
    await finish(cluster, [{ best_rmse: 1, deep }]);
    const { aggregate } = await cluster.job(id);
    assert.equal(aggregate.best_metric, 1);
    assert.deepEqual(
      (aggregate.ranking as unknown as Ranked[]).map(({ best_rmse, metrics }) => [best_rmse, metrics]),
      [[1, {}]],
    );
    // Compared as text: what compares values gives up at such a depth.
    const { result } = await cluster.onlyTask(id);
    assert.equal(JSON.stringify(result?.extra), JSON.stringify({ metrics: { deep } }));
    assert.deepEqual(await cluster.seen.jobArtifacts(id), []);
  });
});

describe('the list of jobs', () => {
  const NAMES = ['Wheat 2024', 'wheat "b"', 'ÄHREN wheat', 'corn*', 'co%n', 'x', 'no\0yes', null];

  async function named(t: Parameters<typeof TestCluster.start>[0]) {
    const cluster = await TestCluster.start(t);
    for (const name of NAMES) await cluster.submit(job(name === null ? {} : { name }));
    return async (name: string, more: object = {}) =>
      (await cluster.seen.jobs({ name, limit: 100, ...more })).map((found) => found.name);
  }

  test('is searched by any part of the name, whatever its case, newest first', async (t) => {
    const search = await named(t);
    assert.deepEqual(await search('WHEAT'), ['ÄHREN wheat', 'wheat "b"', 'Wheat 2024']);
    assert.deepEqual(await search('ähr'), ['ÄHREN wheat']);
    assert.deepEqual(await search('t 2'), ['Wheat 2024']);
    assert.deepEqual(await search('nowhere'), []);
    assert.equal((await search('')).length, NAMES.length);
  });

  test('takes every character of the search literally', async (t) => {
    const search = await named(t);
    assert.deepEqual(await search('t "b'), ['wheat "b"']);
    assert.deepEqual(await search('rn*'), ['corn*']);
    assert.deepEqual(await search('o%n'), ['co%n']);
    assert.deepEqual(await search('c%n'), []);
    assert.deepEqual(await search('wheat OR corn'), []);
    assert.deepEqual(await search('\0yes'), ['no\0yes']);
    assert.deepEqual(await search('o\0y'), ['no\0yes']);
    assert.deepEqual(await search('corn\0'), []);
  });

  test('is searched by one or two characters as well', async (t) => {
    const search = await named(t);
    assert.deepEqual(await search('x'), ['x']);
    assert.deepEqual(await search('CO'), ['co%n', 'corn*']);
  });

  test('narrows a search by status, time and number', async (t) => {
    const search = await named(t);
    assert.deepEqual(await search('wheat', { status: 'queued', limit: 1 }), ['ÄHREN wheat']);
    assert.deepEqual(await search('wheat', { status: 'failed' }), []);
    assert.deepEqual(await search('wheat', { created_before: 0 }), []);
  });

  test('is found without a look at every job, however it is filtered', async (t) => {
    const cluster = await TestCluster.start(t);
    const db = await openReader(`${cluster.stateDir}/store.sqlite`);
    t.after(() => db.close());
    // Each filter in every combination with the others.
    const parts: Partial<JobQuery>[] = [
      { status: 'queued' },
      { status: 'failed' },
      { name: 'wheat' },
      { owner: 'ann' },
      { types: ['mljs.run', 'mljs.predict'] },
      { tags: ['corn'] },
      { resubmitted_from: 'job_1' },
      { tags: ['corn', 'paper'] },
      { created_before: 5 },
      { created_from: 4 },
    ];
    let filters: Partial<JobQuery>[] = [{}];
    for (const part of parts) filters = [...filters, ...filters.map((filter) => ({ ...filter, ...part }))];
    const refs = [
      { ref: 'job_01k9…' },
      { ref: '7fq1bvvs', status: 'queued' },
      { ref: 'wheat', owner: 'ann' },
    ];
    let seen = 0;
    for (const filter of [...filters, ...refs])
      for (const query of queriesOf({ ...filter, limit: 100 }))
        for (const way of query.ref === undefined ? waysOf(query) : referred(query.ref))
          for (const { sql: text, params } of [headStatement(way, query), countStatement(way)]) {
            const sql = textOf(text, 'sqlite');
            const plan = await db.all<{ detail: string }[]>(`EXPLAIN QUERY PLAN ${sql}`, params);
            const details = plan.map(({ detail }) => detail).join('; ');
            assert.doesNotMatch(
              details,
              /TEMP B-TREE|SCAN (jobs|job_tags|first|last|t)\b/,
              `${sql}: ${details}`,
            );
            if (query.ref !== undefined) assert.match(details, /SEARCH jobs USING/, `${sql}: ${details}`);
            seen++;
          }
    assert.ok(seen > 1000, `${seen}`);
  });

  test('finds a job by what a person writes for it: its id, a shown part of it, or its name', async (t) => {
    const cluster = await TestCluster.start(t);
    const ids: string[] = [];
    for (const name of ['wheat', 'Wheat', 'wheat 2']) ids.push((await cluster.submit(job({ name }))).id);
    const [first = '', second = '', third = ''] = ids;
    const find = async (ref: string, more: object = {}) =>
      (await cluster.seen.jobs({ ref, limit: 100, ...more })).map(({ id }) => id);
    for (const id of ids) {
      const [beginning, end] = [id.slice(0, 24), id.slice(-8)];
      const written = [
        id,
        id.slice(4),
        end,
        `…${end}`,
        `...${end}`,
        beginning,
        `${beginning}…`,
        `${beginning}...`,
      ];
      for (const ref of [...written, end.toUpperCase(), ` ${id} `, id.slice(-12), id.slice(-4)]) {
        assert.deepEqual(await find(ref), [id], ref);
      }
    }
    assert.deepEqual(await find('WHEAT'), [second, first], 'a whole name, the newest first');
    assert.deepEqual(await find('wheat 2'), [third]);
    assert.deepEqual(await find(first.slice(0, 8)), [third, second, first]);
    assert.equal((await find(first.slice(0, 8), { limit: 2 })).length, 2);
    for (const nothing of [
      '',
      'whea',
      'job_',
      'job_0',
      first.slice(-3),
      `${first.slice(-8)}…`,
      `…${first.slice(0, 9)}`,
      '%',
      '____',
    ]) {
      assert.deepEqual(await find(nothing), [], nothing);
    }
    await cluster.cancel(second);
    assert.deepEqual(await find('wheat', { status: 'queued' }), [first]);
    const [{ created_at } = { created_at: 0 }] = await cluster.seen.jobs({ ref: second, limit: 1 });
    assert.deepEqual(await find('wheat', { created_before: created_at }), [first]);
  });

  test('finds the end of an id however far back the job lies, a piece of the ids at a time', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id: first } = await cluster.submit(job({ name: 'first' }));
    await cluster.stop();
    const db = await open({ filename: join(cluster.stateDir, 'store.sqlite'), driver: sqlite3.Database });
    const copied = ['seq', 'id', 'name', 'name_folded', 'created_at'];
    const columns = (await db.all<{ name: string }[]>("SELECT name FROM pragma_table_info('jobs')"))
      .map(({ name }) => name)
      .filter((name) => !copied.includes(name));
    await db.run(
      `WITH RECURSIVE n (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n LIMIT 50000)
       INSERT INTO jobs (${[...copied, ...columns].join(', ')})
       SELECT seq + n, printf('job_zzzzzzzzzz%016d', n), NULL, NULL, created_at + n / 1e6, ${columns.join(', ')} FROM jobs, n`,
    );
    await db.close();
    const prepared = new PreparedStatements(await openReader(join(cluster.stateDir, 'store.sqlite')));
    t.after(() => prepared.close());
    const find = async (ref: string, limit = 100) =>
      (await jobHeads(prepared, { ref, limit })).map(({ seq }) => seq);
    assert.deepEqual(await find(`…${first.slice(-8)}`), [1]);
    assert.deepEqual(await find('00020123'), [20124]);
    assert.deepEqual(await find('0123', 3), [40124, 30124, 20124], 'the newest, across two pieces');
    assert.deepEqual(await find('…0000zzzz'), []);
  });

  test('is filtered by owner, types, tags, time, status and name at once, page by page, as by looking at each', async (t) => {
    const cluster = await TestCluster.start(t);
    const pick = <T>(of: readonly T[], n: number): T => of[n % of.length] as T;
    const owners = ['ann', 'bob'].map((name) => ({ name, rights: ['submit', 'cancel', 'read'] as const }));
    const tagSets = [[], ['corn'], ['corn', 'a b'], ['a b']];
    for (let n = 0; n < 96; n++) {
      const document = job({
        type: pick(['mljs.run', 'demo.run', 'other.run'], n >> 1),
        name: pick(['Wheat one', 'wheat two', 'x', undefined], n >> 2),
        tags: pick(tagSets, n * 7 + (n >> 3)),
      });
      const { id } = await cluster.submit(document, pick(owners, n >> 3));
      if (n % 3 === 0) await cluster.cancel(id);
      await cluster.clock.advance(10);
    }
    const all = await cluster.seen.jobs({ limit: 1000 });
    const middle = all[40]?.created_at as number;
    const holds = (found: JobView, query: Partial<JobQuery>) =>
      (query.owner === undefined || found.owner === query.owner) &&
      (query.status === undefined || found.status === query.status) &&
      (query.types === undefined || query.types.includes(found.type)) &&
      (query.tags ?? []).every((tag) => found.tags?.includes(tag)) &&
      (query.name === undefined || (found.name ?? '').toLowerCase().includes(query.name)) &&
      (query.created_from === undefined || found.created_at >= query.created_from) &&
      (query.created_before === undefined || found.created_at < query.created_before);
    const choices: Partial<JobQuery>[][] = [
      [{}, { owner: 'ann' }, { owner: 'nobody' }],
      [{}, { status: 'cancelled' }, { status: 'queued' }, { status: 'succeeded' }],
      [{}, { types: ['mljs.run'] }, { types: ['mljs.run', 'other.run'] }, { types: [] }],
      [{}, { tags: ['corn'] }, { tags: ['corn', 'a b'] }, { tags: ['none'] }],
      [{}, { name: 'wheat' }, { name: 'x' }],
      [
        {},
        { created_from: middle },
        { created_before: middle },
        { created_from: middle - 200, created_before: middle },
      ],
    ];
    let queries: Partial<JobQuery>[] = [{}];
    for (const some of choices)
      queries = queries.flatMap((query) => some.map((one) => ({ ...query, ...one })));
    let found = 0;
    for (const query of queries) {
      const wanted = all.filter((one) => holds(one, query)).map(({ id }) => id);
      const got: string[] = [];
      for (let before = query.created_before; ; ) {
        const more = before === undefined ? {} : { created_before: before };
        const page = await cluster.seen.jobs({ ...query, ...more, limit: 20 });
        got.push(...page.map(({ id }) => id));
        before = page.at(-1)?.created_at;
        if (page.length < 20) break;
      }
      assert.deepEqual(got, wanted, JSON.stringify(query));
      found += wanted.length;
    }
    assert.ok(found > 1000, `${found}`);
  });

  test('is empty for more tags than a job may have, which no statement could hold', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.submit(job({ tags: ['corn'] }));
    const tags = Array.from({ length: 990 }, (_, i) => String.fromCharCode(0x4e00 + i));
    assert.deepEqual(await cluster.seen.jobs({ tags, limit: 1 }), []);
  });

  test('is filtered by what was changed', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(job({ tags: ['corn'] }));
    const of = async (tag: string) =>
      (await cluster.seen.jobs({ tags: [tag], limit: 1 })).map((one) => one.id);
    await cluster.change(id, { tags: ['wheat'] });
    assert.deepEqual([await of('corn'), await of('wheat')], [[], [id]]);
  });
});
