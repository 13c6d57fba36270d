import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { filenameOf } from '../../gateway/client/filename.ts';
import { sortedJobs } from '../../gateway/ui/client/model/job-sort.ts';
import { ago, bytes, count, measured, span, tail } from '../../gateway/ui/client/text/format.ts';
import { plainLog } from '../../gateway/ui/client/text/log-text.ts';
import { indented } from '../../machines/json/indented.ts';
import type { JobView } from '../../machines/schema/views.ts';

describe('how the dashboard writes things', () => {
  it('indents a specification without touching a number or the order of keys', () => {
    const text = '{"z":1.0,"a":[1e-3,12345678901234567890,{}],"s":"a, {b}: \\"c\\" [\\\\","e":[],"t":true}';
    assert.equal(
      indented(text),
      [
        '{',
        '  "z": 1.0,',
        '  "a": [',
        '    1e-3,',
        '    12345678901234567890,',
        '    {}',
        '  ],',
        '  "s": "a, {b}: \\"c\\" [\\\\",',
        '  "e": [],',
        '  "t": true',
        '}',
      ].join('\n'),
    );
  });

  it('strips a log of terminal codes, and keeps the last state of an overwritten line', () => {
    const esc = '\u001b';
    assert.equal(plainLog(`${esc}[1;31merror${esc}[0m at ${esc}]8;;http://x${esc}\\here`), 'error at here');
    assert.equal(plainLog('10%\r50%\r100%\ndone\r\nend'), '100%\ndone\nend');
  });

  it('reads the name of a download, the full one before the plain one', () => {
    assert.equal(filenameOf('attachment; filename="best_model.json"'), 'best_model.json');
    assert.equal(
      filenameOf(`attachment; filename="mod_le.json"; filename*=UTF-8''mod%C3%A8le.json`),
      'modèle.json',
    );
    assert.equal(filenameOf(`attachment; filename="a.json"; filename*=UTF-8''%E0%A4%A`), 'a.json');
    assert.equal(filenameOf(null), null);
  });

  it('shortens numbers, sizes, times and ids for the eye', () => {
    assert.deepEqual([0.123456, 12345.678, 3, null, Number.NaN, '1.50'].map(measured), [
      '0.1235',
      '12350',
      '3',
      '–',
      '–',
      '1.50',
    ]);
    assert.deepEqual([0, 1023, 1536, 300 * 1024 ** 2].map(bytes), ['0 B', '1023 B', '1.5 KiB', '300 MiB']);
    assert.deepEqual([0.4, 59, 3599, 86_399, 200_000].map(span), ['0 s', '59 s', '59 min', '23 h', '2 d']);
    assert.deepEqual([-5, 0.5, 61].map(ago), ['now', 'now', '1 min ago']);
    assert.equal(count(1_234_567), '1,234,567');
    assert.equal(tail('job_01k9zzzzabcdefgh'), '…abcdefgh');
  });

  it('sorts a page of jobs, those without a value last either way', () => {
    const job = (name: string | null, best_metric: number | null) =>
      ({ name, aggregate: { best_metric } }) as JobView;
    const jobs = [job('b', 2), job(null, null), job('A', 1), job('c', 3)];
    const names = (sort: string) => sortedJobs(jobs, sort).map(({ name }) => name);
    assert.deepEqual(names(''), ['b', null, 'A', 'c']);
    assert.deepEqual(names('name'), ['A', 'b', 'c', null]);
    assert.deepEqual(names('-best'), ['c', 'b', 'A', null]);
  });
});
