import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Credentials } from '../../gateway/auth/credentials.ts';
import { ANONYMOUS, RIGHTS } from '../../machines/protocol/rights.ts';
import { StartError } from '../../machines/protocol/start-error.ts';

const dir = mkdtempSync(join(tmpdir(), 'jq-auth-'));
after(() => rmSync(dir, { recursive: true }));

function authFile(text: string, name = 'auth.yaml'): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

const SECRET = 'hush-hush';

/** The refusal that the options meet with; it must never hold a token. */
function refusal(options: Parameters<typeof Credentials.from>[0]): StartError {
  try {
    Credentials.from(options);
  } catch (fault) {
    assert.ok(fault instanceof StartError, String(fault));
    assert.ok(!fault.message.includes(SECRET), 'the token is not repeated');
    return fault;
  }
  throw new assert.AssertionError({ message: 'nothing was refused' });
}

describe('credentials', () => {
  it('are not needed when none is configured', () => {
    const open = Credentials.from({});
    assert.equal(open.open, true);
    assert.equal(open.identify(undefined), ANONYMOUS);
    assert.equal(open.identify('anything'), ANONYMOUS);
  });

  it('are needed by everybody as soon as one is configured', () => {
    const closed = Credentials.from({ principals: ['alice:a:viewer'] });
    assert.equal(closed.open, false);
    for (const token of [undefined, '', 'b', 'A', 'a ', 'aa']) assert.equal(closed.identify(token), null);
  });

  it('give a principal the rights of its roles, in one order', () => {
    const auth = Credentials.from({ principals: ['x:1:executor,submitter', 'y:2:viewer', 'z:3:admin'] });
    assert.deepEqual(auth.identify('1'), { name: 'x', rights: ['cancel', 'execute', 'read', 'submit'] });
    assert.deepEqual(auth.identify('2'), { name: 'y', rights: ['read'] });
    assert.deepEqual(auth.identify('3'), { name: 'z', rights: RIGHTS });
  });

  it('given as --token act as admin, beside principals', () => {
    const auth = Credentials.from({ token: 'legacy', principals: ['y:2:viewer'] });
    assert.deepEqual(auth.identify('legacy'), { name: 'admin', rights: RIGHTS });
    assert.equal(auth.identify('2')?.name, 'y');
  });

  it('may hold colons in the token: the name ends at the first, the roles begin after the last', () => {
    const auth = Credentials.from({ principals: ['alice:a:b:c:viewer'] });
    assert.equal(auth.identify('a:b:c')?.name, 'alice');
  });

  it('may give one name two tokens, as is needed while one is replaced', () => {
    const auth = Credentials.from({ principals: ['alice:old:viewer', 'alice:new:viewer'] });
    assert.deepEqual([auth.identify('old')?.name, auth.identify('new')?.name], ['alice', 'alice']);
  });

  const refused: [string, Parameters<typeof Credentials.from>[0], string, RegExp][] = [
    [
      'an unknown role',
      { principals: [`al:${SECRET}:king`] },
      'bad_principal',
      /--principal al .*'king'.*viewer/,
    ],
    [
      "a role with the name of an object's member",
      { principals: [`al:${SECRET}:constructor`] },
      'bad_principal',
      /unknown role/,
    ],
    ['no role', { principals: [`al:${SECRET}:`] }, 'bad_principal', /unknown role ''/],
    ['an empty token', { principals: ['al::viewer'] }, 'bad_token', /--principal al has an empty token/],
    ['an empty --token', { token: '' }, 'bad_token', /--token has an empty token/],
    ['an empty name', { principals: [`:${SECRET}:viewer`] }, 'bad_principal', /empty name/],
    ['one colon', { principals: [`al:${SECRET}`] }, 'bad_principal', /NAME:TOKEN:ROLE/],
    ['no colon', { principals: [SECRET] }, 'bad_principal', /NAME:TOKEN:ROLE/],
    ['a token that no header carries', { principals: [`al:${SECRET} x:viewer`] }, 'bad_token', /white space/],
    [
      'one token for two principals',
      { principals: [`al:${SECRET}:viewer`, `bo:${SECRET}:viewer`] },
      'duplicate_token',
      /--principal al and --principal bo have the same token/,
    ],
    [
      '--token equal to the token of a principal',
      { principals: [`al:${SECRET}:viewer`], token: SECRET },
      'duplicate_token',
      /--principal al and --token/,
    ],
  ];
  for (const [title, options, code, message] of refused) {
    it(`are refused with ${title}`, () => {
      const fault = refusal(options);
      assert.equal(fault.code, code);
      assert.match(fault.message, message);
    });
  }
});

describe('an auth file', () => {
  const digest = createHash('sha256').update('by-digest').digest('hex');

  it('lists principals in YAML, by roles or rights, with tokens or their digests', () => {
    const path = authFile(
      `# who may\n- {name: al, roles: [submitter], token: "a"}\n` +
        `- name: bo\n  rights: [submit, read]\n  token_sha256: ${digest.toUpperCase()}\n`,
    );
    const auth = Credentials.from({ authFile: path });
    assert.deepEqual(auth.identify('a'), { name: 'al', rights: ['cancel', 'read', 'submit'] });
    assert.deepEqual(auth.identify('by-digest'), { name: 'bo', rights: ['read', 'submit'] });
  });

  it('may be JSON', () => {
    const path = authFile('[{"name": "al", "rights": ["admin"],\n\t"token": "a"}]', 'auth.json');
    assert.deepEqual(Credentials.from({ authFile: path }).identify('a'), { name: 'al', rights: RIGHTS });
  });

  const entry = (rest: string) => `[{name: al, ${rest}}]`;
  const refused: [string, string, string, RegExp][] = [
    ['an unknown role', entry(`roles: [king], token: ${SECRET}`), 'bad_auth_file', /entry 1 \(al\).*'king'/],
    ['an unknown right', entry(`rights: [fly], token: ${SECRET}`), 'bad_auth_file', /'fly' \(known: admin/],
    ['neither roles nor rights', entry(`token: ${SECRET}`), 'bad_auth_file', /'roles' or 'rights'/],
    [
      'roles and rights',
      entry(`roles: [admin], rights: [read], token: ${SECRET}`),
      'bad_auth_file',
      /either/,
    ],
    ['no token', entry('roles: [admin]'), 'bad_auth_file', /'token' or 'token_sha256'/],
    ['an empty token', entry('roles: [admin], token: ""'), 'bad_token', /entry 1 \(al\) has an empty token/],
    [
      'a token that is a number',
      entry('roles: [admin], token: 12'),
      'bad_auth_file',
      /\/0\/token must be string/,
    ],
    ['half a digest', entry('roles: [admin], token_sha256: abcd'), 'bad_auth_file', /token_sha256/],
    ['no list', `al: ${SECRET}`, 'bad_auth_file', /must be array/],
    ['an empty list, which would open the server', '[]', 'bad_auth_file', /holds no principal/],
    ['nothing in it', '', 'bad_auth_file', /must be array/],
    [
      'broken YAML',
      `- name: al\n  token: "${SECRET}\n- x`,
      'bad_auth_file',
      /neither JSON nor YAML: look at line \d/,
    ],
    [
      'one token twice',
      `[{name: al, roles: [viewer], token: ${SECRET}}, {name: bo, roles: [viewer], token: ${SECRET}}]`,
      'duplicate_token',
      /entry 1 \(al\) and .*entry 2 \(bo\)/,
    ],
  ];
  for (const [title, text, code, message] of refused) {
    it(`is refused with ${title}`, () => {
      const fault = refusal({ authFile: authFile(text) });
      assert.equal(fault.code, code);
      assert.match(fault.message, message);
      assert.ok(fault.message.includes(dir), 'the file is named');
    });
  }

  it('that does not exist is named in the error', () => {
    assert.match(refusal({ authFile: join(dir, 'none') }).message, /cannot read .*none \(ENOENT\)/);
  });

  it('is read again on reload', () => {
    const path = authFile('[{name: al, roles: [viewer], token: one}]');
    const auth = Credentials.from({ authFile: path, principals: ['bo:fixed:viewer'] });
    authFile('[{name: al, roles: [submitter], token: two}]');
    auth.reload();
    assert.equal(auth.identify('one'), null);
    assert.ok(auth.identify('two')?.rights.includes('submit'));
    assert.equal(auth.identify('fixed')?.name, 'bo');
  });

  it('with a fault changes nothing on reload, and the fault is reported', () => {
    const path = authFile('[{name: al, roles: [viewer], token: one}]');
    const auth = Credentials.from({ authFile: path });
    for (const text of ['[', '[]', '[{name: al, roles: [king], token: two}]']) {
      authFile(text);
      assert.throws(() => auth.reload(), StartError);
      assert.equal(auth.identify('one')?.name, 'al');
    }
  });
});
