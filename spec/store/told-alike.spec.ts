import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { run } from '../cli/cli-support.ts';
import { inTime } from '../support/in-time.ts';
import { muteProxy } from '../support/mute-proxy.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { sharingState } from '../support/sharing-state.ts';
import { until } from '../support/until.ts';
import { emptyDatabase, postgres } from './drivers.ts';
import { aside } from './postgres-support.ts';

const TOKENS = { ann: randomBytes(16).toString('hex'), lab: randomBytes(16).toString('hex') };
const markOf = (token: string) => createHash('sha256').update(token).digest()[0];

/** Another token, which does not begin alike. */
function otherThan(token: string): string {
  for (;;) {
    const other = randomBytes(16).toString('hex');
    if (markOf(other) !== markOf(token)) return other;
  }
}

/** A file of credentials, as the operator of a machine writes it. */
async function authFile(t: TestContext, tokens: Record<string, string>) {
  const path = join(await temporaryDirectory(t), 'auth.json');
  const write = (held: Record<string, string>) =>
    writeFile(
      path,
      JSON.stringify(Object.entries(held).map(([name, token]) => ({ name, token, roles: ['admin'] }))),
      { mode: 0o600 },
    );
  await write(tokens);
  return { path, write };
}

describe('a server that would take over', requires('postgresql'), () => {
  test('and was told otherwise than the one that leads is named before it does: in its log, in the list, and by the doctor', async (t) => {
    const store = await emptyDatabase();
    const state = await sharingState(t);
    const rotated = { ...TOKENS, lab: otherThan(TOKENS.lab) };
    const [right, wrong] = [await authFile(t, TOKENS), await authFile(t, rotated)];
    const logFile = join(await temporaryDirectory(t), 'log');
    const first = await startTestServer(t, { store, state: await state(), authFile: right.path });
    const second = await startTestServer(t, {
      ...{ store, state: await state(), authFile: wrong.path, leaseTtl: 30 },
      ...{ logFile, logLevel: 'info' },
    });
    const client = first.clientWith(TOKENS.ann);
    const servers = async () => (await client.call('listServers')).servers;
    const differs = async () => (await servers()).map((server) => server.differs);
    const told = ['--lease-ttl', 'credential of lab'];
    await until('the second to be compared', async () => {
      const [, beside] = await servers();
      return beside?.address && beside.differs.length > 0;
    });
    assert.deepEqual(await differs(), [[], told]);
    const words = 'was told otherwise than the server that leads: --lease-ttl, credential of lab';
    await until('its log to say so', async () => (await readFile(logFile, 'utf8')).includes(words));

    const flags = ['--server', `${first.url},${second.url}`, '--token', TOKENS.ann];
    const list = await run(['servers', ...flags]);
    assert.match(
      list.stdout,
      new RegExp(`${second.url} was told otherwise .*: --lease-ttl, credential of lab`),
    );
    const named = new RegExp(`warning +server +${second.url} was told otherwise .* lab`);
    await until('the doctor to name it', async () => named.test((await run(['doctor', ...flags])).stdout));

    // The file of the first one, read again.
    await wrong.write(TOKENS);
    await second.reload();
    await until('the credentials to be the same', async () => (await differs())[1]?.length === 1);
    assert.deepEqual(await differs(), [[], ['--lease-ttl']]);
  });

  test('does so also where an answer to what it says of itself never came', async (t) => {
    const store = await emptyDatabase();
    const state = await sharingState(t);
    const first = await startTestServer(t, { store, state: await state() });
    const proxy = await muteProxy(t, (await postgres()).port, 'UPDATE servers SET configuration');
    const through = new URL(store);
    through.port = `${proxy.port}`;
    const second = await startTestServer(t, { store: through.href, state: await state() });
    await until('a session to be mute', () => proxy.muted > 0);
    await first.stop();
    await inTime('the second to lead', second.leads, 60);
  });

  test('leaves nothing in the database by which a token could be found', async (t) => {
    const store = await emptyDatabase();
    const { path } = await authFile(t, TOKENS);
    await startTestServer(t, { store, authFile: path });
    const owner = await aside(t, store);
    const row = await until('what it was told', async () => {
      const { rows } = await owner.query<{ all: string; said: string | null }>(
        'SELECT s::text AS all, s.configuration AS said FROM servers s',
      );
      return rows[0]?.said ? rows[0] : undefined;
    });
    const configuration = JSON.parse(row.said as string) as Record<string, string>;
    for (const [name, token] of Object.entries(TOKENS)) {
      const digest = createHash('sha256').update(token).digest('hex');
      const said = configuration[`credential of ${name}`] ?? '';
      assert.match(said, new RegExp(`^[a-z ]+ ever ${digest.slice(0, 2)}$`), 'a byte, and no more');
      assert.ok(![token, digest.slice(0, 8)].some((secret) => row.all.includes(secret)));
    }
  });
});
