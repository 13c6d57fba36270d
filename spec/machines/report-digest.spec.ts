import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withMembers } from '../../machines/json/raw.ts';
import { digestEvent, digestFailure, digestReport, digestResult } from '../../machines/report/digest.ts';
import { activeTasks, digestHeartbeat } from '../../machines/worker/active-list.ts';

/** Objects and lists that a value is made of: what it costs to copy it into another process. */
function parts(value: unknown): number {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + parts(member), 1);
}
const tree = { list: Array.from({ length: 1000 }, (_, i) => ({ v: i })) };

describe('the digest of a report', () => {
  it('holds as text what the server does not look into, however many parts it has', () => {
    assert.ok(parts(tree) > 1000);
    const result = digestResult({ status: 'succeeded', extra: tree, odd: tree } as never);
    const event = digestEvent({ type: 'log', data: tree });
    assert.ok(parts(result) < 10 && parts(event) < 10);
    assert.deepEqual(JSON.parse(result.text), { odd: tree, status: 'succeeded', extra: tree });
    assert.deepEqual(JSON.parse(event.data), tree);
  });

  it('holds very many metrics as two values', () => {
    const metrics = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`m${i}`, i]));
    const digest = digestResult({ status: 'succeeded', metrics });
    assert.ok(Object.keys(digest.metrics ?? {}).length < 1000 && parts(digest) < 10);
  });

  it('leaves out unknown members of a failure', () => {
    const failure = { error: 'e', retriable: false, more: tree } as never;
    assert.deepEqual(digestFailure(failure), { error: 'e', retriable: false });
    const report = { type: 'fail', task_id: 't', worker_id: 'w', failure } as never;
    assert.ok(parts(digestReport(report)) < 10);
  });

  it('holds a list of active tasks as columns, from which it comes back', () => {
    const active = [
      { task_id: 'a', attempt: 1, stopping: false },
      { task_id: 'b', attempt: 2, stopping: true },
    ];
    const many = Array.from({ length: 1000 }, (_, i) => ({ task_id: `t${i}`, attempt: i }));
    const { active: columns } = digestHeartbeat({ active });
    assert.deepEqual(columns && activeTasks(columns), active);
    assert.ok(parts(digestHeartbeat({ active: many })) < 10);
  });

  it('may have members added after its own', () => {
    assert.equal(withMembers('{"a":1.0}', { b: undefined, c: { d: 2 } }), '{"a":1.0,"c":{"d":2}}');
    assert.equal(withMembers('{}', { c: 1 }), '{"c":1}');
    assert.equal(withMembers('{"a":1}', {}), '{"a":1}');
  });
});
