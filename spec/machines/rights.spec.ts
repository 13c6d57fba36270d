import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ClusterError, ERROR_CODES } from '../../machines/protocol/errors.ts';
import {
  ANONYMOUS,
  expandRights,
  missingRights,
  type Principal,
  RIGHTS,
  ROLES,
} from '../../machines/protocol/rights.ts';

const holder = (...rights: Principal['rights']): Principal => ({ name: 'alice', rights });

describe('the rights of a role', () => {
  it('are those of the specification', () => {
    assert.deepEqual(Object.keys(ROLES).sort(), ['admin', 'executor', 'submitter', 'viewer']);
    assert.deepEqual([...(ROLES.submitter ?? [])].sort(), ['cancel', 'read', 'submit']);
    assert.deepEqual([...(ROLES.executor ?? [])].sort(), ['execute', 'read']);
    assert.deepEqual(ROLES.viewer, ['read']);
    assert.deepEqual(ROLES.admin, RIGHTS);
    assert.deepEqual([...RIGHTS].sort(), ['admin', 'cancel', 'execute', 'read', 'submit']);
  });

  it('come in one order, once each, and admin brings all of them', () => {
    assert.deepEqual(expandRights(['submit', 'read', 'cancel', 'read']), ['cancel', 'read', 'submit']);
    assert.deepEqual(expandRights(['read', 'admin']), RIGHTS);
    assert.deepEqual(expandRights([]), []);
  });
});

describe('what a principal lacks', () => {
  it('is every required right that it does not hold, as required', () => {
    assert.deepEqual(missingRights(holder('read'), ['submit', 'read', 'cancel']), ['submit', 'cancel']);
    assert.deepEqual(missingRights(holder('read'), ['read']), []);
    assert.deepEqual(missingRights(holder(), []), []);
  });

  it('is nothing for an admin, nor for anybody in open mode', () => {
    assert.deepEqual(missingRights(holder('admin'), [...RIGHTS]), []);
    assert.deepEqual(missingRights(ANONYMOUS, [...RIGHTS]), []);
    assert.equal(ANONYMOUS.name, 'anonymous');
  });
});

describe('an error', () => {
  it('has a code for programs and a sentence for people', () => {
    const error = new ClusterError('no_room', 'there is no room for an artifact of 3 GiB');
    assert.ok(error instanceof Error, 'an Error');
    assert.deepEqual(
      [error.name, error.code, error.message, error.faults],
      ['ClusterError', 'no_room', 'there is no room for an artifact of 3 GiB', undefined],
    );
  });

  it('of validation names the first three faults in its sentence, and holds them all', () => {
    const faults = ['/a', '/b', '/c', '/d', '/e'].map((path) => ({ path, message: 'is required' }));
    const error = ClusterError.invalid('job', faults);
    assert.deepEqual([error.code, error.faults], ['invalid_body', faults]);
    assert.equal(error.message, 'invalid job: /a is required; /b is required; /c is required; and 2 more');
    assert.equal(
      ClusterError.invalid('job', faults.slice(0, 3)).message,
      'invalid job: /a is required; /b is required; /c is required',
    );
  });

  it('of an unknown id names it', () => {
    const error = ClusterError.unknown('task', 'task_9');
    assert.deepEqual([error.code, error.message], ['unknown_id', "no task with id 'task_9'"]);
  });

  it('has one of a closed list of codes, each once', () => {
    assert.equal(new Set(ERROR_CODES).size, ERROR_CODES.length);
    for (const code of ERROR_CODES) assert.match(code, /^[a-z]+(_[a-z]+)*$/);
  });
});
