import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createActor } from 'xstate';
import { LONGEST_PAUSE, NEW_TEMPLATE, templateMachine } from '../../machines/fleet/template.ts';

const starting = (input = NEW_TEMPLATE) => createActor(templateMachine, { input }).start();
type Actor = ReturnType<typeof starting>;

const value = (actor: Actor) => JSON.stringify(actor.getSnapshot().value).replaceAll('"', '');
const look = (actor: Actor, now: number, works = false) => actor.send({ type: 'LOOKED', now, works });
const fail = (actor: Actor, now: number) => actor.send({ type: 'FAILED', now, why: 'no such account' });

describe('a template of a fleet', () => {
  it('asks while something is wanted of it, and is idle otherwise', () => {
    const actor = starting();
    const seen = [value(actor)];
    for (const asks of [true, true, false]) {
      actor.send({ type: 'DECIDED', now: 1, asks, surplus: false });
      seen.push(value(actor));
    }
    assert.deepEqual(seen, ['{ready:idle}', '{ready:asking}', '{ready:asking}', '{ready:idle}']);
  });

  it('pauses after a failure with its reason, and resumes by itself with a single try', () => {
    const actor = starting();
    fail(actor, 1000);
    assert.equal(value(actor), 'paused');
    assert.equal(actor.getSnapshot().context.reason, 'no such account');
    fail(actor, 1001);
    assert.equal(actor.getSnapshot().context.failures, 1, 'what was asked for together fails together');
    look(actor, 1029.9);
    assert.equal(value(actor), 'paused');
    look(actor, 1030);
    assert.equal(value(actor), 'trying');
    look(actor, 1040, true);
    assert.equal(value(actor), '{ready:idle}');
    assert.deepEqual(actor.getSnapshot().context, NEW_TEMPLATE, 'a worker that works makes it forgotten');
  });

  it('pauses for twice as long with each failure, and half an hour at most', () => {
    const actor = starting();
    const pauses: number[] = [];
    for (let now = 0; pauses.length < 8; ) {
      fail(actor, now);
      const { resumes_at } = actor.getSnapshot().context;
      pauses.push((resumes_at ?? 0) - now);
      now = resumes_at ?? 0;
      look(actor, now);
    }
    assert.deepEqual(pauses, [30, 60, 120, 240, 480, 960, LONGEST_PAUSE, LONGEST_PAUSE]);
  });

  it('pauses when a second worker in a row came for nothing; one may have come too late', () => {
    const actor = starting();
    const unused = (now: number) => actor.send({ type: 'UNUSED', now, why: 'it was given nothing' });
    unused(1);
    look(actor, 2, true);
    unused(3);
    assert.equal(value(actor), '{ready:idle}', 'another one worked in between');
    unused(4);
    assert.equal(value(actor), 'paused');
  });

  it('goes on after a restart where it was: it pauses for the rest, or has one try', () => {
    const actor = starting();
    fail(actor, 1000);
    const again = starting(actor.getSnapshot().context);
    assert.equal(value(again), 'paused');
    look(again, 1030);
    assert.equal(value(starting(again.getSnapshot().context)), 'trying');
  });

  it('remembers since when it has allocations that nobody needs', () => {
    const actor = starting();
    const decide = (now: number, surplus: boolean) => {
      actor.send({ type: 'DECIDED', now, asks: false, surplus });
      return actor.getSnapshot().context.surplus_since;
    };
    assert.deepEqual(
      [decide(1, false), decide(2, true), decide(3, true), decide(4, false)],
      [null, 2, 2, null],
    );
    fail(actor, 5);
    assert.equal(decide(6, true), 6, 'also while it pauses');
  });
});
