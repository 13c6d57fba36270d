import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Credentials } from '../../gateway/auth/credentials.ts';
import { run } from '../cli/cli-support.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';

interface Made {
  name: string;
  token: string;
  expires_at: number | null;
}

async function placeFor(t: TestContext, name = 'auth.yaml') {
  const file = join(await temporaryDirectory(t), name);
  const tokens = (...argv: string[]) => run(['tokens', ...argv, '--auth-file', file]);
  /** What succeeds, as JSON. */
  const made = async (...argv: string[]): Promise<Made> => {
    const { code, stdout, stderr } = await tokens(...argv, '--json');
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Made;
  };
  const auth = (now?: () => number) => Credentials.from({ authFile: file }, now);
  return { file, tokens, made, auth, text: () => readFile(file, 'utf8') };
}

const DAY = 86_400;
const nowSeconds = () => Date.now() / 1000;
const isNear = (found: number | null, wished: number) =>
  assert.ok(found !== null && Math.abs(found - wished) < 120, `${found} is about ${wished}`);

describe('jqctl tokens', () => {
  it('adds a token that is printed alone on stdout, and of which the file keeps the digest', async (t) => {
    const { file, tokens, auth, text } = await placeFor(t);
    const { code, stdout, stderr } = await tokens('add', 'ann', '--role', 'submitter');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^jq_[\w-]{43}\n$/);
    const token = stdout.trim();
    assert.deepEqual(auth().identify(token), { name: 'ann', rights: ['cancel', 'read', 'submit'] });
    assert.ok(!(await text()).includes(token) && !stderr.includes(token));
    assert.match(stderr, new RegExp(`${file} takes it over at SIGHUP`));
    const { stdout: other } = await tokens('add', 'lab', '--right', 'execute', '--right', 'read');
    assert.deepEqual(auth().identify(other.trim())?.rights, ['execute', 'read']);
    assert.equal(auth().identify(token)?.name, 'ann', 'the first one stays');
  });

  it('leaves the file readable for its user alone, whatever it was', requires('file modes'), async (t) => {
    const { file, made } = await placeFor(t);
    await made('add', 'ann', '--role', 'viewer');
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const open = await placeFor(t);
    await writeFile(open.file, '[{name: bo, roles: [viewer], token: hush}]', { mode: 0o644 });
    await open.made('add', 'ann', '--role', 'viewer');
    assert.equal((await stat(open.file)).mode & 0o777, 0o600);
  });

  it('keeps what a person wrote into the file, and replaces tokens that stood there by digests', async (t) => {
    const { file, made, auth, text } = await placeFor(t);
    const written = '# the group\n- name: bo # on leave\n  roles: [viewer]\n  token: hush-hush\n  desk: 3\n';
    await writeFile(file, written);
    const { token } = await made('add', 'ann', '--role', 'viewer');
    const after = await text();
    for (const part of ['# the group', '# on leave', 'roles: [ viewer ]', 'desk: 3']) {
      assert.ok(after.includes(part), after);
    }
    assert.doesNotMatch(after, /hush-hush|token:/);
    assert.deepEqual([auth().identify('hush-hush')?.name, auth().identify(token)?.name], ['bo', 'ann']);
  });

  it('leaves JSON JSON, and makes it where the name ends so', async (t) => {
    const { file, made, text } = await placeFor(t, 'auth.json');
    await made('add', 'ann', '--role', 'viewer');
    assert.equal(JSON.parse(await text())[0].name, 'ann');
    const written = await placeFor(t, 'principals');
    await writeFile(written.file, '[{"name": "bo", "roles": ["viewer"], "token": "x"}]');
    await written.made('rotate', 'bo');
    assert.equal(JSON.parse(await written.text()).length, 2);
    assert.ok(file.endsWith('.json'));
  });

  it('gives a token an end: after a length of time, at a time, or never', async (t) => {
    const { made, auth } = await placeFor(t);
    const short = await made('add', 'a', '--role', 'viewer', '--expires', '90d');
    isNear(short.expires_at, nowSeconds() + 90 * DAY);
    const at = await made('add', 'b', '--role', 'viewer', '--expires', '2999-01-31');
    assert.equal(at.expires_at, Date.parse('2999-01-31') / 1000);
    assert.equal((await made('add', 'c', '--role', 'viewer', '--expires', 'never')).expires_at, null);
    const later = auth(() => nowSeconds() + 91 * DAY);
    assert.deepEqual([later.identify(short.token), later.identify(at.token)?.name], [null, 'b']);
  });

  it('rotates: the new one has the rights and the lifetime of the old one, which goes on for the overlap', async (t) => {
    const { made, auth } = await placeFor(t);
    const old = await made('add', 'lab', '--role', 'executor', '--expires', '30d');
    const other = await made('add', 'ann', '--role', 'viewer');
    const young = await made('rotate', 'lab', '--overlap', '2h');
    isNear(young.expires_at, nowSeconds() + 30 * DAY);
    const who = (hours: number) => {
      const then = auth(() => nowSeconds() + hours * 3600);
      return [old, young, other].map(({ token }) => then.identify(token)?.rights.join());
    };
    assert.deepEqual(who(1.9), ['execute,read', 'execute,read', 'read']);
    assert.deepEqual(who(2.1), [undefined, 'execute,read', 'read']);
    const last = await made('rotate', 'lab', '--overlap', '0', '--expires', 'never');
    assert.equal(last.expires_at, null);
    assert.deepEqual(who(0), [undefined, undefined, 'read'], 'without an overlap the old ones end at once');
  });

  it('rotates one of several by its id, and refuses a name whose tokens differ in rights', async (t) => {
    const { tokens, made, auth } = await placeFor(t);
    const viewer = await made('add', 'ann', '--role', 'viewer');
    const admin = await made('add', 'ann', '--role', 'admin');
    const refused = await tokens('rotate', 'ann');
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /different rights: name one of them by its id \([0-9a-f]{8}, [0-9a-f]{8}\)/);
    const id = /\(([0-9a-f]{8}), /.exec(refused.stderr)?.[1] as string;
    const young = await made('rotate', id, '--overlap', '0');
    const names = [viewer, admin, young].map(({ token }) => auth().identify(token)?.rights.length);
    assert.deepEqual(names, [undefined, 5, 1]);
  });

  it('revokes all tokens of a name, or one by its id, but never the last one', async (t) => {
    const { tokens, made, auth, text } = await placeFor(t);
    const [a, b, c] = [
      await made('add', 'ann', '--role', 'viewer'),
      await made('add', 'ann', '--role', 'viewer'),
      await made('add', 'bo', '--role', 'admin'),
    ];
    const listed = JSON.parse((await tokens('list', '--json')).stdout) as { id: string; name: string }[];
    assert.equal((await tokens('revoke', listed[0]?.id as string)).code, 0);
    assert.deepEqual([auth().identify(a.token), auth().identify(b.token)?.name], [null, 'ann']);
    const revoked = await tokens('revoke', 'ann', '--json');
    assert.deepEqual(JSON.parse(revoked.stdout), { revoked: [{ id: listed[1]?.id, name: 'ann' }] });
    assert.equal(auth().identify(b.token), null);
    const before = await text();
    const last = await tokens('revoke', 'bo');
    assert.deepEqual([last.code, last.stdout], [2, '']);
    assert.match(last.stderr, /no token would be left.*open to everybody/);
    assert.equal(await text(), before);
    assert.equal(auth().identify(c.token)?.name, 'bo');
  });

  it('drops what has expired with the next edit', async (t) => {
    const { file, made, text } = await placeFor(t);
    await writeFile(file, '[{name: old, roles: [viewer], token: x, expires_at: 2020-01-01}]');
    await made('add', 'ann', '--role', 'viewer');
    assert.doesNotMatch(await text(), /old/);
  });

  it('lists them with their ids, ends and last use, and warns of tokens that can be read', async (t) => {
    const { file, tokens } = await placeFor(t);
    const state = join(file, '..');
    await writeFile(
      file,
      '[{name: ann, roles: [viewer], token: x}, {name: "bo\\u001b[2J", rights: [read], token: y, expires_at: 2020-01-01}]',
    );
    const [ann] = JSON.parse((await tokens('list', '--json')).stdout) as { id: string }[];
    await writeFile(
      join(state, 'token-uses.json'),
      JSON.stringify({ [ann?.id as string]: nowSeconds() - 7200 }),
    );
    const { code, stdout, stderr } = await tokens('list', '--state', state);
    assert.equal(code, 0, stderr);
    assert.match(stdout, new RegExp(`^ann +${ann?.id} +viewer +- +never +2 h ago$`, 'm'));
    assert.match(stdout, /^bo.*read +- +expired \d+ d ago +-$/m);
    assert.ok(!stdout.includes('\u001b'), 'a name drives no terminal');
    assert.match(stderr, /2 tokens of .* can be read in it/);
  });

  it('changes the file that a link names', requires('file modes'), async (t) => {
    const { file, made, auth } = await placeFor(t);
    const target = join(file, '../target.yaml');
    await writeFile(target, '[{name: bo, roles: [viewer], token: x}]');
    await symlink(target, file);
    const { token } = await made('add', 'ann', '--role', 'viewer');
    assert.match(readFileSync(target, 'utf8'), /ann/);
    assert.equal(auth().identify(token)?.name, 'ann');
  });

  it('makes edits one after the other: of many at once each is in the file, or says that it is not', async (t) => {
    const { file, tokens, auth, text } = await placeFor(t);
    const runs = await Promise.all(
      Array.from({ length: 12 }, (_, i) => tokens('add', `p${i}`, '--role', 'viewer')),
    );
    const done = runs.filter(({ code }) => code === 0);
    assert.ok(done.length > 0);
    for (const { stdout } of done) assert.ok(auth().identify(stdout.trim()), 'what was printed counts');
    for (const { code, stderr } of runs.filter((one) => one.code !== 0)) {
      assert.equal(code, 2);
      assert.match(stderr, /somebody else changes the auth file just now/);
    }
    assert.equal((await text()).match(/name:/g)?.length, done.length);
    assert.deepEqual(await readdir(join(file, '..')), ['auth.yaml'], 'nothing is left beside it');
  });

  it('touches nothing while an edit that was broken off lies beside the file, and says which file that is', async (t) => {
    const { file, tokens, made, text } = await placeFor(t);
    await made('add', 'ann', '--role', 'viewer');
    const before = await text();
    await writeFile(`${file}.new`, 'half');
    const { code, stderr } = await tokens('add', 'bo', '--role', 'viewer');
    assert.deepEqual([code, await text()], [2, before]);
    assert.ok(stderr.includes(`remove ${file}.new`), stderr);
    assert.equal(await readFile(`${file}.new`, 'utf8'), 'half');
  });

  const wrong: [title: string, argv: string[], says: RegExp][] = [
    ['an action that does not exist', ['ad', 'x'], /'ad' is none of add, list.*did you mean 'add'/],
    ['neither role nor right', ['add', 'x'], /either --role or --right/],
    ['role and right', ['add', 'x', '--role', 'viewer', '--right', 'read'], /either --role or --right/],
    ['an unknown role', ['add', 'x', '--role', 'king'], /unknown role 'king' \(known/],
    ['an unknown right', ['add', 'x', '--right', 'fly'], /unknown right 'fly' \(known/],
    ['no name', ['add', '--role', 'viewer'], /whose token\?/],
    ['a name that drives a terminal', ['add', 'a\u001b[2J', '--role', 'viewer'], /whose token\?/],
    ['a time that has passed', ['add', 'x', '--role', 'viewer', '--expires', '2020-01-01'], /has passed/],
    ['a time that is none', ['add', 'x', '--role', 'viewer', '--expires', 'soon'], /'soon' is no length/],
    ['a day that there is not', ['add', 'x', '--role', 'viewer', '--expires', '2999-02-31'], /no length/],
    ['somebody who is not there', ['revoke', 'annn'], /'annn', did you mean 'ann'\?/],
    ['an overlap for revoke', ['revoke', 'ann', '--overlap', '1h'], /--overlap means nothing/],
    ['a role for rotate', ['rotate', 'ann', '--role', 'admin'], /--role means nothing/],
    ['a name for list', ['list', 'ann'], /list takes no name/],
  ];
  for (const [title, argv, says] of wrong) {
    it(`refuses ${title}: exit code 2, and the file is as it was`, async (t) => {
      const { file, tokens, text } = await placeFor(t);
      const before = '[{name: ann, roles: [viewer], token: x}, {name: bo, roles: [viewer], token: y}]';
      await writeFile(file, before);
      const { code, stdout, stderr } = await tokens(...argv);
      assert.deepEqual([code, stdout, await text()], [2, '', before]);
      assert.match(stderr, says);
    });
  }

  it('needs the name of the file, and leaves one alone that no server would take', async (t) => {
    assert.match((await run(['tokens', 'list'])).stderr, /--auth-file: name the auth file/);
    const { file, tokens } = await placeFor(t);
    for (const broken of [
      '[{name: ',
      '{}',
      '- name: ann\n  roles: [viewer]\n  token: x\n  expire_at: 2030-01-01\n',
    ]) {
      await writeFile(file, broken);
      const { code, stderr } = await tokens('add', 'bo', '--role', 'viewer');
      assert.deepEqual([code, await readFile(file, 'utf8')], [2, broken], stderr);
    }
  });
});
