import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { firstReadable, outcomeOf } from '../../actors/worker/child/ending.ts';
import type { ChildEnd } from '../../actors/worker/child/run-group.ts';
import { WorkerError } from '../../actors/worker/errors.ts';
import type { Fingerprints } from '../../actors/worker/inputs/pipeline.ts';
import type { Outcome } from '../../machines/attempt/attempt.ts';
import { temporaryFolder } from './folder.ts';

interface Ended extends Partial<ChildEnd> {
  /** Text of the result file; absent: there is none. */
  result?: string;
  stderr?: string;
  fingerprints?: Fingerprints;
  /** The version of the library that the worker declared. */
  library?: string | undefined;
  /** What the worker finds wrong with itself. */
  own?: WorkerError;
}

async function ended(
  t: TestContext,
  { result, stderr = '', fingerprints = {}, library = '2.1', own, ...end }: Ended,
): Promise<Outcome> {
  const base = await temporaryFolder(t);
  const path = join(base, 'result.json');
  if (result !== undefined) await writeFile(path, result);
  return outcomeOf({
    end: { code: 0, signal: null, seconds: 1.23456, survivors: [], ...end },
    file: { path, base },
    errorText: stderr,
    fingerprints,
    library: { name: 'demo', version: library },
    ownFault: async () => own ?? null,
  });
}

const failure = (outcome: Outcome) =>
  outcome.verb === 'fail' ? outcome.failure : assert.fail('it succeeded');
const success = (outcome: Outcome) =>
  outcome.verb === 'complete' ? outcome.result : assert.fail('it failed');

describe('a child that has ended', () => {
  it('succeeded when it wrote a valid result; fingerprint and duration are added', async (t) => {
    const result = '{"status":"succeeded","demo_version":"1","metrics":{"best_rmse":0.1},"odd":[1]}';
    assert.deepEqual(
      { ...success(await ended(t, { result, fingerprints: { fixed: 'sha256:ab' } })) },
      {
        status: 'succeeded',
        demo_version: '1',
        metrics: { best_rmse: 0.1 },
        odd: [1],
        duration_seconds: 1.235,
        pipeline_fingerprint: 'sha256:ab',
      },
    );
  });

  it('has the version of its library that the worker knows where the runner names none', async (t) => {
    const version = async (result: string, library?: string) =>
      (success(await ended(t, { result, library })) as Record<string, unknown>).demo_version;
    assert.equal(await version('{"status":"succeeded"}'), '2.1');
    assert.equal(await version('{"status":"succeeded","demo_version":"1"}'), '1');
    assert.equal(await version('{"status":"succeeded"}', 'unknown'), undefined);
  });

  it('keeps the duration that the analysis measured itself', async (t) => {
    const result = '{"status":"succeeded","duration_seconds":0.5}';
    assert.equal(success(await ended(t, { result })).duration_seconds, 0.5);
  });

  it('may write NaN and Infinity, as Python does; they are null', async (t) => {
    const result = '{"status":"succeeded","metrics":{"best_rmse":NaN,"best_r2":-Infinity}}';
    assert.deepEqual(success(await ended(t, { result })).metrics, { best_rmse: null, best_r2: null });
  });

  it('does not choose the artifacts: these are what the worker uploads', async (t) => {
    const result = '{"status":"succeeded","artifacts":{"model":"art_of_somebody"}}';
    assert.equal(success(await ended(t, { result })).artifacts, undefined);
  });

  it('failed without a result', async (t) => {
    const { error, retriable } = failure(await ended(t, {}));
    assert.match(error, /ended without writing a result/);
    assert.equal(retriable, true);
  });

  it('failed with a result that is no JSON, or not a valid one', async (t) => {
    assert.match(failure(await ended(t, { result: '{"status":' })).error, /result cannot be read/);
    const odd = '{"status":"succeeded","duration_seconds":"long"}';
    assert.match(failure(await ended(t, { result: odd })).error, /not valid: \/duration_seconds/);
    assert.match(failure(await ended(t, { result: 'null' })).error, /not valid/);
  });

  it('failed with a result that nests deeper than anybody can report', async (t) => {
    for (const levels of [495, 100_000]) {
      const result = `{"extra":${'{"a":['.repeat(levels / 2)}"]"${']}'.repeat(levels / 2)}}`;
      assert.equal(failure(await ended(t, { result })).error, 'the result is nested deeper than 490 levels');
    }
    const odd = `{"extra":{"a":${'['.repeat(400)}"${'['.repeat(1000)}"${']'.repeat(400)}}}`;
    assert.equal(success(await ended(t, { result: odd })).status, undefined);
  });

  it('may begin its result with a byte order mark, as programs of Windows do', async (t) => {
    const result = '\ufeff{"status":"succeeded","metrics":{"best_rmse":0.1}}';
    assert.deepEqual(success(await ended(t, { result })).metrics, { best_rmse: 0.1 });
  });

  it('failed when it says so in the result, in its own words', async (t) => {
    const result = '{"status":"failed","error":"did not converge"}';
    assert.equal(failure(await ended(t, { result })).error, 'did not converge');
    assert.match(failure(await ended(t, { result: '{"status":"failed"}' })).error, /status 'failed'/);
  });

  it('failed by its exit code even with a result', async (t) => {
    const outcome = await ended(t, {
      code: 1,
      result: '{"status":"succeeded"}',
      stderr: 'ValueError: bad shape',
    });
    assert.deepEqual(failure(outcome), {
      error: 'ValueError: bad shape',
      traceback: 'ValueError: bad shape',
      retriable: true,
      fault: 'task',
    });
  });

  it('is not tried again after exit code 2: the fault is in what the job names', async (t) => {
    const { error, retriable, fault } = failure(await ended(t, { code: 2, stderr: 'Error: no steps' }));
    assert.deepEqual([error, retriable, fault], ['Error: no steps', false, 'input']);
  });

  it('is reported by its exit code when it wrote nothing', async (t) => {
    assert.match(failure(await ended(t, { code: 9 })).error, /exit code 9 and said nothing/);
  });

  it('is reported with its exit code when its output names no error, or the code is unusual', async (t) => {
    const error = async (code: number, stderr: string) => failure(await ended(t, { code, stderr })).error;
    assert.equal(await error(7, 'reading spectra'), 'reading spectra (exit code 7)');
    assert.equal(await error(1, 'reading spectra'), 'reading spectra (exit code 1)');
    assert.equal(await error(7, 'ValueError: bad shape'), 'ValueError: bad shape (exit code 7)');
  });

  it('is reported by the signal that ended it, and may be tried again', async (t) => {
    const { error, retriable } = failure(await ended(t, { code: null, signal: 'SIGSEGV', stderr: 'oops' }));
    assert.deepEqual([error, retriable], ['the analysis was ended by SIGSEGV', true]);
  });

  it('that the kernel killed was probably out of memory, and is tried again', async (t) => {
    const killed = failure(await ended(t, { code: null, signal: 'SIGKILL' }));
    const error = 'the analysis was killed by SIGKILL, probably out of memory';
    assert.deepEqual(killed, { error, retriable: true, fault: 'task' });
    // A shell that survives what it ran says so by its exit code.
    const shell = failure(await ended(t, { code: 137, stderr: 'run.sh: line 3: 4711 Killed' }));
    assert.equal(shell.error, 'a process of the analysis was killed by SIGKILL, probably out of memory');
    assert.deepEqual([shell.traceback, shell.retriable], ['run.sh: line 3: 4711 Killed', true]);
  });

  it('has the fingerprint of its pipeline file rather than what the runner says', async (t) => {
    const result = '{"status":"succeeded","pipeline_fingerprint":"sha256:told"}';
    const fingerprintOf = async (fingerprints: Fingerprints, text = result) =>
      success(await ended(t, { result: text, fingerprints })).pipeline_fingerprint;
    assert.equal(await fingerprintOf({ fixed: 'sha256:file' }), 'sha256:file');
    assert.equal(await fingerprintOf({ fallback: 'sha256:code' }), 'sha256:told');
    assert.equal(await fingerprintOf({ fallback: 'sha256:code' }, '{"status":"succeeded"}'), 'sha256:code');
  });
});

describe('whose fault it is that a child failed', () => {
  const told = async (t: TestContext, end: Ended) => {
    const outcome = await ended(t, end);
    const { error, fault, retriable, missing_path } = failure(outcome);
    return { error, fault, retriable, missing_path, own: 'own' in outcome && outcome.own === true };
  };

  for (const code of [69, 126, 127]) {
    it(`is the worker's own after exit code ${code}: it cannot work here`, async (t) => {
      const { fault, retriable, own } = await told(t, { code, stderr: 'Error: no libblas' });
      assert.deepEqual([fault, retriable, own], ['worker', true, true]);
    });
  }

  it('is what the result file says, whatever the exit code', async (t) => {
    const said = { status: 'failed', error: 'no CUDA here', fault: 'worker' };
    const cases: [object, number, string, boolean][] = [
      [said, 1, 'worker', true],
      [said, 2, 'worker', true],
      [{ ...said, fault: 'input' }, 1, 'input', false],
      [{ ...said, fault: 'task' }, 2, 'task', true],
      [{ ...said, fault: 'nobody' }, 1, 'task', true],
    ];
    for (const [result, code, fault, retriable] of cases) {
      const heard = await told(t, { code, result: JSON.stringify(result), stderr: 'Error: other words' });
      assert.deepEqual(heard, {
        error: 'no CUDA here',
        fault,
        retriable,
        missing_path: undefined,
        own: false,
      });
    }
  });

  it("is not the worker's own when a path is missing here, which is named", async (t) => {
    const result = '{"status":"failed","error":"gone","fault":"worker","missing_path":"/mnt/lab/corn"}';
    const { missing_path, own } = await told(t, { code: 69, result });
    assert.deepEqual([missing_path, own], ['/mnt/lab/corn', false]);
  });

  it("is the worker's when the child says that its disk is full", async (t) => {
    const stderr = "OSError: [Errno 28] No space left on device: '/tmp/x'";
    const { fault, own } = await told(t, { code: 1, stderr });
    assert.deepEqual([fault, own], ['worker', false]);
  });

  const own = new WorkerError('this worker cannot run tasks: its disk is full (ENOSPC)', { own: true });

  it("is the worker's when its disk did not take the result", async (t) => {
    const heard = await told(t, { result: '{"status":"succ', own });
    assert.deepEqual([heard.fault, heard.own, heard.retriable], ['worker', true, true]);
    assert.match(heard.error, /its disk is full \(ENOSPC\): the result cannot be read: /);
    // A program whose file is gone: Python says so with exit code 2, as if the input were at fault.
    const { fault } = await told(t, { code: 2, stderr: "can't open file 'run.py'", own });
    assert.equal(fault, 'worker');
  });

  it('is still that of the input when the runner had the time to say so', async (t) => {
    const result = '{"status":"failed","error":"no steps","fault":"input"}';
    assert.equal((await told(t, { code: 2, result, own })).fault, 'input');
  });
});

describe('the line of an error output that is shown first', () => {
  const cases: [string, string, string | undefined][] = [
    [
      'the last of a Python traceback',
      'Traceback (most recent call last):\n  File "a.py"\n    x\nKeyError: 1',
      'KeyError: 1',
    ],
    ['the first of a Node error', 'TypeError: no\n    at f (a.js:1)\n\nNode.js v20.20.2', 'TypeError: no'],
    [
      'an error of a package',
      'sklearn.exceptions.NotFittedError: call fit\nsome other line',
      'sklearn.exceptions.NotFittedError: call fit',
    ],
    ['the last plain line', 'warming up\ngiving up', 'giving up'],
    ['nothing of nothing', '', undefined],
  ];
  for (const [what, text, line] of cases) {
    it(`is ${what}`, () => assert.equal(firstReadable(text), line));
  }
});
