import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { referredTo } from '../../machines/protocol/reference.ts';

const JOBS = [
  { id: 'job_01k9abcdefghjkmnpq7fq1bvvs', name: 'wheat' },
  { id: 'job_01k9zyxwvtsrqpnmkj7fq1bvvt', name: 'Wheat' },
  { id: 'job_01j8zyxwvtsrqpnmkjaaaaaaaa', name: null },
];
const found = (text: string) => referredTo(text, JOBS).map((job) => JOBS.indexOf(job));

describe('what a person writes for a job, a task or a worker', () => {
  test('is its whole id, the shown end or beginning of it, or its name', () => {
    const meant: Record<string, number[]> = {
      job_01k9abcdefghjkmnpq7fq1bvvs: [0],
      '…7fq1bvvs': [0],
      '...7fq1bvvs': [0],
      '7fq1bvvs': [0],
      '7FQ1BVVT': [1],
      job_01k9: [0, 1],
      'job_01k9…': [0, 1],
      'job_01j8...': [2],
      wheat: [0, 1],
      '  WHEAT ': [0, 1],
    };
    for (const [text, jobs] of Object.entries(meant)) assert.deepEqual(found(text), jobs, text);
  });

  test('an ellipsis says which side of the id was cut off', () => {
    assert.deepEqual(found('job_01k9abcdefghjkmnpq7fq1bvvs…'), [0]);
    assert.deepEqual(found('…job_01k9'), []);
    assert.deepEqual(found('7fq1bvvs…'), []);
  });

  test('is not accepted where it holds too little of an id, or nothing', () => {
    for (const text of ['', ' ', '…', '...', 'job_', 'job_01k', 'bvs', 'whea', 'heat'])
      assert.deepEqual(found(text), [], text);
  });

  test('a whole id means that one alone, whatever others are called', () => {
    const id = JOBS[0]?.id ?? '';
    const others = [
      { id: 'job_other', name: id },
      { id: `${id}0`, name: null },
      { id, name: null },
    ];
    assert.deepEqual(referredTo(id, others), [others[2]]);
  });

  test('every beginning and end of an id that is long enough finds it', () => {
    const text = fc.string({
      unit: fc.constantFrom(...'0123456789abcdefghjkmnpqrstvwxyz'),
      minLength: 4,
      maxLength: 26,
    });
    fc.assert(
      fc.property(text, fc.nat(), (tail, n) => {
        const id = `task_${tail}`;
        const length = 4 + (n % (tail.length - 3));
        for (const part of [id.slice(0, 5 + length), id.slice(-length)]) {
          assert.deepEqual(referredTo(part, [{ id }]), [{ id }], part);
        }
      }),
    );
  });
});
