import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scene } from './scene.ts';

describe('the queue on the command line', () => {
  it('is paused and resumed, as a whole, of a type or of an owner, and says by whom', async (t) => {
    const { server, ctl, submit, play } = await scene(t);
    const worker = await play();
    const lease = () =>
      server.client.call('lease', { params: { id: worker.worker_id }, body: { max_tasks: 1 } });
    assert.match(
      (await ctl('queue')).stdout,
      /^0 tasks waiting, 0 under way; slots are shared by fifo\nnothing is paused\n$/,
    );
    await ctl('queue', 'pause');
    await ctl('queue', 'pause', '--type', 'mljs.run');
    const paused = await ctl('queue', 'pause', '--owner', 'anonymous');
    assert.match(paused.stdout, /^the queue is paused by anonymous/m);
    const id = await submit('a.yaml');
    for (const [argv, why] of [
      [[], 'the queue is paused'],
      [['--type', 'mljs.run'], 'type mljs.run is paused'],
      [['--owner', 'anonymous'], 'owner anonymous is paused'],
    ] as const) {
      assert.match((await ctl('status', id)).stdout, new RegExp(`1 queued task waits: .*${why}`));
      assert.equal((await lease()).task, null);
      await ctl('queue', 'resume', ...argv);
    }
    assert.match((await ctl('queue')).stdout, /^1 task waiting, 0 under way.*\nnothing is paused$/m);
    assert.notEqual((await lease()).task, null);
  });

  it('prints what is paused as JSON', async (t) => {
    const { ctl } = await scene(t);
    await ctl('queue', 'pause', '--type', 'mljs.run');
    const { paused, share, queued } = JSON.parse((await ctl('queue', '--json')).stdout);
    assert.deepEqual(
      [queued, share, paused.map(({ kind, name, by }: Record<string, string>) => [kind, name, by])],
      [0, 'fifo', [['type', 'mljs.run', 'anonymous']]],
    );
    const { code, stderr } = await ctl('queue', 'pause', '--type', 'a.run', '--owner', 'ann');
    assert.equal(code, 2);
    assert.match(stderr, /name a --type or an --owner, not both/);
  });

  it('shows what is wanted of workers, and how many slots there are for it', async (t) => {
    const { ctl, submit, play } = await scene(t);
    await submit('a.yaml', 'b.yaml');
    const wanted =
      /^ *wanted +of workers that have +each takes +under way +free slots\n +2 +packages\.mljs +- +0 +0\/0$/m;
    assert.match((await ctl('queue')).stdout, wanted);
    await play();
    assert.match((await ctl('queue')).stdout, /^ +2 +packages\.mljs +- +0 +\d\/\d$/m);
    const { demand } = JSON.parse((await ctl('queue', '--json')).stdout);
    assert.deepEqual([demand.slots_wanted, demand.groups[0].types], [2, ['mljs.run']]);
  });

  it('gives up one task of a job, which goes on with the others', async (t) => {
    const { server, ctl, submit, play } = await scene(t);
    const id = await submit('a.yaml', 'b.yaml');
    const [first, second] = await server.client.call('listJobTasks', { params: { id } });
    const { code, stdout } = await ctl('cancel', id, '--task', first?.id as string);
    assert.equal(code, 0);
    assert.match(stdout, /cancelled/);
    const worker = await play();
    const task = await worker.take();
    assert.equal(task.task_id, second?.id);
    await worker.complete(task);
    assert.match((await ctl('status', id)).stdout, /status +succeeded[\s\S]*1 succeeded, 1 cancelled/);
  });

  it('takes a task from its worker and queues it again, which costs no attempt; one that waits is refused', async (t) => {
    const { server, ctl, submit, play } = await scene(t);
    const worker = await play();
    const id = await submit('a.yaml');
    const before = await worker.take();
    const [task] = await server.client.call('listJobTasks', { params: { id } });
    const { code, stdout } = await ctl('requeue', id, '--task', before.task_id);
    assert.equal(code, 0);
    assert.match(stdout, /queued/);
    const again = await ctl('requeue', id, '--task', before.task_id);
    assert.equal(again.code, 2);
    await assert.rejects(worker.complete(before), { status: 409 });
    const other = await play();
    const next = await other.take();
    const [now] = await server.client.call('listJobTasks', { params: { id } });
    const left = (view: typeof now) => (view?.max_attempts ?? 0) - (view?.attempt ?? 0);
    assert.equal(left(now), left(task), 'as many attempts are left as before');
    await other.complete(next);
    assert.match((await ctl('status', id)).stdout, /status +succeeded/);
    const none = await ctl('requeue', id);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /--task: name the tasks/);
  });
});
