import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { JobView } from '../../machines/schema/views.ts';
import { JOB } from '../support/job.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { run } from './cli-support.ts';

async function withServer(t: TestContext) {
  const server = await startTestServer(t);
  const ctl = (...argv: string[]) => run([...argv, '--server', server.url]);
  const job = (id: string) => server.client.call('getJob', { params: { id } });
  return { server, ctl, job };
}

describe('jqctl set', () => {
  it('changes name, note, tags and priority, of several jobs at once, and takes them back', async (t) => {
    const { server, ctl, job } = await withServer(t);
    const ids = [];
    for (const name of ['one', 'two'])
      ids.push((await server.client.call('submitJob', { body: { ...JOB, name, tags: [name] } })).id);
    const [one = '', two = ''] = ids;
    const { code, stdout } = await ctl('set', 'one', two, '--priority=-3', '--tag', 'corn', '--note', 'a\nb');
    assert.deepEqual([code, stdout], [0, `${one} is changed\n${two} is changed\n`]);
    for (const [i, id] of ids.entries()) {
      const { priority, note, tags } = await job(id);
      assert.deepEqual([priority, note, tags], [-3, 'a\nb', [i === 0 ? 'one' : 'two', 'corn']]);
    }
    const taken = await ctl('set', one, '--untag', 'one', '--tag', 'a b', '--note', '', '--name', 'uno');
    assert.equal(taken.stderr, '');
    const none = await ctl('set', one, '--untag', 'two');
    assert.deepEqual([none.code, none.stderr], [0, `warning: ${one} has no tag 'two'\n`]);
    const changed = await job(one);
    assert.deepEqual([changed.name, changed.note ?? null, changed.tags], ['uno', null, ['corn', 'a b']]);
    const shown = (await ctl('status', two)).stdout;
    assert.match(shown, /^tags +two, corn$/m);
    assert.match(shown, /^note +a\n +b$/m);
    const [said] = JSON.parse((await ctl('set', one, '--name', '', '--json')).stdout) as [JobView];
    assert.deepEqual([said.id, said.name], [one, null]);
  });

  it('says what is wrong: nothing to change, no such job, a tag that is none, a priority of no use', async (t) => {
    const { server, ctl } = await withServer(t);
    const { id } = await server.client.call('submitJob', { body: JOB });
    const cases: [argv: string[], says: RegExp][] = [
      [[id], /name what is to be changed/],
      [['nosuchjob', '--name', 'x'], /nosuchjob/],
      [[id, '--tag', 'a,b'], /tags\/0/],
      [[id, '--priority', 'high'], /--priority: 'high' is not a whole number/],
    ];
    for (const [argv, says] of cases) {
      const { code, stderr } = await ctl('set', ...argv);
      assert.equal(code, 2, stderr);
      assert.match(stderr, says);
    }
    await ctl('cancel', id);
    const { code, stderr } = await ctl('set', id, '--priority', '1');
    assert.equal(code, 2);
    assert.match(stderr, /is cancelled: none of its tasks waits for its turn/);
  });
});

describe('a job that is submitted', () => {
  it('has the tags and the note of its file, or those of the command line above them', async (t) => {
    const { ctl, job } = await withServer(t);
    const file = join(await temporaryDirectory(t), 'job.yaml');
    writeFileSync(file, `${JSON.stringify({ ...JOB, tags: ['in file'], note: 'of the file' })}\n`);
    const said = async (...argv: string[]) => {
      const { code, stdout, stderr } = await ctl(...argv);
      assert.equal(code, 0, stderr);
      const { tags, note } = await job(stdout.trim());
      return [tags, note];
    };
    assert.deepEqual(await said('submit', file), [['in file'], 'of the file']);
    assert.deepEqual(await said('submit', file, '--tag', 'a', '--tag', 'b', '--note', 'n'), [
      ['a', 'b'],
      'n',
    ]);
    const pipeline = ['--pipeline', '/p.yaml', '--dataset', '/d'];
    assert.deepEqual(await said('run', '--lib', 'mljs', ...pipeline, '--tag', 'x', '--note', 'y'), [
      ['x'],
      'y',
    ]);
  });
});
