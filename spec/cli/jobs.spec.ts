import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobView } from '../../machines/schema/views.ts';
import { startTestServer } from '../support/server.ts';
import { run } from './cli-support.ts';

const JOB = {
  pipeline: { kind: 'inline_json', inline: {} },
  dataset: { kind: 'shared_path', path: '/d' },
} as const;

describe('jqctl jobs', () => {
  it('lists the jobs that have all that is asked for', async (t) => {
    const principals = ['ann:token-of-ann:submitter', 'bob:token-of-bob:submitter'];
    const server = await startTestServer(t, { principals });
    const submit = async (who: string, name: string, differs: object) => {
      const client = server.clientWith(`token-of-${who}`);
      await client.call('submitJob', { body: { ...JOB, name, type: 'mljs.run', ...differs } as never });
    };
    await submit('ann', 'one', { tags: ['corn', 'a paper'] });
    await submit('ann', 'two', { type: 'other.run' });
    await submit('bob', 'three', { tags: ['corn'] });
    const names = async (...argv: string[]) => {
      const flags = ['--json', '--server', server.url, '--token', 'token-of-ann'];
      const { stdout, stderr, code } = await run(['jobs', ...argv, ...flags]);
      assert.equal(code, 0, stderr);
      return (JSON.parse(stdout) as JobView[]).map(({ name }) => name).join(' ');
    };
    const day = (later: number) => new Date(Date.now() + later * 86_400_000).toISOString();
    const cases: [argv: string[], names: string][] = [
      [[], 'three two one'],
      [['--owner', 'me'], 'two one'],
      [['--owner', 'bob'], 'three'],
      [['--type', 'other.run'], 'two'],
      [['--library', 'mljs'], 'three one'],
      [['--library', 'mljs', '--type', 'other.run'], ''],
      [['--kind', 'run'], 'three two one'],
      [['--kind', 'predict'], ''],
      [['--kind', 'predict', '--library', 'mljs'], ''],
      [['--kind', 'run', '--type', 'other.run', '--owner', 'ann'], 'two'],
      [['--tag', 'corn'], 'three one'],
      [['--tag', 'corn', '--tag', 'a paper'], 'one'],
      [['--since', '7d'], 'three two one'],
      [['--since', day(1)], ''],
      [['--until', '7d'], ''],
      [['--since', day(-1).slice(0, 10), '--until', day(2).slice(0, 10)], 'three two one'],
      [['--owner', 'me', '--since', '1h', '--tag', 'corn', '--library', 'mljs', '--status', 'queued'], 'one'],
    ];
    for (const [argv, expected] of cases) assert.equal(await names(...argv), expected, argv.join(' '));
    const shown = await run(['jobs', '--server', server.url, '--token', 'token-of-ann']);
    assert.match(shown.stdout, /^job +name +status +tasks +best +submitted +tags +owner$/m);
    assert.match(shown.stdout, / corn, a paper +ann$/m);
    const own = await run(['jobs', '--type', 'other.run', '--server', server.url, '--token', 'token-of-ann']);
    assert.match(own.stdout, /^job +name +status +tasks +best +submitted$/m, 'what says nothing is left out');
  });

  it('says what a moment is', async () => {
    for (const text of ['soon', '7', '5m', '2026-13-45', 'Nov 5'])
      for (const flag of ['--since', '--until']) {
        const { code, stderr } = await run(['jobs', flag, text]);
        assert.equal(code, 2);
        assert.match(
          stderr,
          new RegExp(`${flag}: '${text}' is neither a time ago in s, min, h or d, such as 7d, nor a date`),
        );
      }
  });
});
