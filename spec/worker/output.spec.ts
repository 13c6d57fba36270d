import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { TaskEvents } from '../../actors/worker/child/events.ts';
import { Lines, parseProgress } from '../../actors/worker/child/lines.ts';
import { LogFile } from '../../actors/worker/child/log-file.ts';
import { Output } from '../../actors/worker/child/output.ts';
import type { ReportedEvent } from '../../machines/schema/report.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from './folder.ts';

const linesOf = (...chunks: (string | Buffer)[]): string[] => {
  const found: string[] = [];
  const lines = new Lines((line) => found.push(line));
  for (const chunk of chunks) lines.write(Buffer.from(chunk));
  lines.end();
  return found;
};

describe('lines of output', () => {
  it('are put together from pieces, a last one without an end included', () => {
    assert.deepEqual(linesOf('one\ntw', 'o\n', '\nthree'), ['one', 'two', '', 'three']);
  });

  it('keep characters that arrive in two pieces', () => {
    const bytes = Buffer.from('grün\n');
    assert.deepEqual(linesOf(bytes.subarray(0, 3), bytes.subarray(3)), ['grün']);
  });

  it('keep only the last state of a progress bar that redraws itself, and no Windows line ends', () => {
    assert.deepEqual(linesOf('10 %\r50 %\r100 %\nnext\r\n'), ['100 %', 'next']);
  });

  it('are cut when a program never ends one, so that memory stays bounded', () => {
    const found = linesOf('x'.repeat(5_000), 'x'.repeat(5_000), 'x');
    assert.deepEqual(
      found.map((line) => line.length),
      [4096, 4096, 1809],
    );
    assert.equal(linesOf(`${'x'.repeat(9_000)}\nnext`).join(''), `${'x'.repeat(9_000)}next`);
  });

  it('are never cut within a character, and each piece fits into a log event', () => {
    const text = `x${'\u{1f40d}'.repeat(5_000)}`;
    const found = linesOf(text);
    assert.equal(found.join(''), text);
    assert.ok(
      found.every(
        (piece) => !/\ufffd/.test(Buffer.from(piece).toString()) && Buffer.byteLength(piece) < 16_000,
      ),
    );
  });

  it('report progress as `::progress 0.42 message`', () => {
    assert.deepEqual(parseProgress('::progress 0.42 fold 3 of 7'), {
      progress: 0.42,
      message: 'fold 3 of 7',
    });
    assert.deepEqual(parseProgress('::progress 1'), { progress: 1, message: '' });
    for (const line of [
      '::progress',
      '::progress x',
      '::progress 1.5 more',
      '::progress -1',
      ' ::progress 0.1',
    ]) {
      assert.equal(parseProgress(line), null, line);
    }
  });
});

describe('the log file of a task', () => {
  async function log(t: TestContext, maxBytes = 1000) {
    const path = join(await temporaryFolder(t), 'run.log');
    const file = new LogFile(path, maxBytes);
    return { file, text: () => file.close().then(() => readFile(path, 'utf8')) };
  }

  it('takes everything up to its limit, and says where it was cut', async (t) => {
    const { file, text } = await log(t, 10);
    file.write(Buffer.from('12345678'));
    file.write(Buffer.from('90abc'));
    file.write(Buffer.from('never seen'));
    const notes = ['the log exceeds 10 bytes; the rest is left out', '13 bytes were left out'];
    assert.equal(await text(), `1234567890\n${notes.map((note) => `[jq-worker] ${note}\n`).join('')}`);
  });

  it('has room for what the worker writes after it was cut', async (t) => {
    const { file, text } = await log(t, 2);
    file.write(Buffer.from('abc'));
    file.note('cancelled');
    assert.match(await text(), /left out\n\[jq-worker\] cancelled\n.*1 bytes were left out\n$/);
  });

  it("begins the worker's own lines on a line of their own", async (t) => {
    const { file, text } = await log(t);
    file.note('first');
    file.write(Buffer.from('no end'));
    file.note('last');
    assert.equal(await text(), '[jq-worker] first\nno end\n[jq-worker] last\n');
  });

  it('is given up quietly when the disk fails, and the run goes on', async () => {
    const file = new LogFile('/no/such/folder/run.log', 1000);
    file.write(Buffer.from('x'));
    await until('the fault', () => file.broken);
    assert.equal(file.write(Buffer.from('x')), true);
    file.note('y');
    await file.drained();
    await file.close();
  });

  it('may be closed twice', async (t) => {
    const { file } = await log(t);
    await file.close();
    await file.close();
  });
});

const never = new AbortController().signal;

/** Events whose sending ends when the test says so, on a clock that the test moves. */
function events(t: TestContext, { arrives = true } = {}) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sent: ReportedEvent[][] = [];
  const pending: (() => void)[] = [];
  const state = { arrives, held: false };
  const task = new TaskEvents(async (batch) => {
    sent.push(batch);
    if (state.held) await new Promise<void>((resolve) => pending.push(resolve));
    if (!state.arrives) throw new Error('away');
  });
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { task, sent, state, pass, release: () => pending.shift()?.() };
}

describe('the events that a running task sends', () => {
  it('join lines to one event', async (t) => {
    const { task, sent, pass } = events(t);
    task.log('one');
    task.log('two');
    await pass(100);
    assert.deepEqual(sent, [[{ type: 'log', level: 'info', message: 'one\ntwo' }]]);
  });

  it('are sent at most once a second', async (t) => {
    const { task, sent, pass } = events(t);
    for (let i = 0; i < 300; i++) {
      task.log(`line ${i}`);
      task.progress(i / 300, `step ${i}`);
      await pass(10);
    }
    assert.ok(sent.length >= 2 && sent.length <= 4, `${sent.length} requests in 3 s`);
    for (const batch of sent) {
      assert.equal(batch.filter((event) => event.type === 'log').length, 1);
      assert.ok(batch.filter((event) => event.type === 'progress').length <= 1);
    }
  });

  it('always include the last progress, however fast the task was', async (t) => {
    const { task, sent } = events(t);
    for (let i = 1; i <= 50; i++) task.progress(i / 50, `step ${i}`);
    await task.close(never);
    assert.deepEqual(sent, [[{ type: 'progress', level: 'info', message: 'step 50', progress: 1 }]]);
  });

  it('leave out what exceeds 16 KiB, and say how much', async (t) => {
    const { task, sent, pass } = events(t);
    for (let i = 0; i < 400; i++) task.log(`${i} ${'ü'.repeat(100)}`);
    await pass(100);
    const message = sent[0]?.[0]?.message ?? '';
    assert.ok(Buffer.byteLength(message) <= 16 * 1024);
    assert.match(message, /^0 ü/);
    assert.match(message, /\[… \d+ lines, \d{5} bytes left out\]$/);
    task.log('after');
    await pass(1000);
    assert.equal(sent[1]?.[0]?.message, 'after');
  });

  it('are kept when they did not arrive, and sent later in their order, with the last progress', async (t) => {
    const { task, sent, state, pass } = events(t, { arrives: false });
    task.log('12345');
    task.progress(0.5, 'half');
    await pass(100);
    task.log('678');
    task.progress(0.6, 'more');
    await pass(1000);
    state.arrives = true;
    for (let i = 0; i < 4; i++) await pass(1000);
    assert.equal(sent.length, 3);
    assert.deepEqual(sent.at(-1), [
      { type: 'log', level: 'info', message: '12345' },
      { type: 'log', level: 'info', message: '678' },
      { type: 'progress', level: 'info', message: 'more', progress: 0.6 },
    ]);
    for (let i = 0; i < 20; i++) await pass(1000);
    assert.equal(sent.length, 3, 'nothing arrives twice');
  });

  it('account for every byte of a long outage, however often they are tried', async (t) => {
    const { task, sent, state, pass } = events(t, { arrives: false });
    let told = 0;
    for (let second = 0; second < 200; second++) {
      for (let n = 0; n < 100; n++) {
        const line = `${second} ${n} ${'y'.repeat(100)}`;
        task.log(line);
        told += line.length + 1;
      }
      await pass(1000);
    }
    assert.ok(sent.length > 10 && sent.length < 60, `${sent.length} tries`);
    const tries = sent.length;
    state.arrives = true;
    const closed = task.close(never);
    for (let i = 0; i < 20; i++) await pass(10_000);
    await closed;
    const messages = sent.slice(tries).flatMap((batch) => batch.map((event) => event.message ?? ''));
    assert.ok(messages.every((message) => Buffer.byteLength(message) <= 16 * 1024));
    const lines = messages.flatMap((message) => message.split('\n'));
    const markers = lines.map((line) => /^\[… (\d+) lines, (\d+) bytes left out\]$/.exec(line));
    const text = lines.filter((_, i) => markers[i] === null);
    const total = (part: 1 | 2) => markers.reduce((sum, marker) => sum + Number(marker?.[part] ?? 0), 0);
    assert.ok(total(1) > 0, 'so much is not kept');
    assert.equal(text.length + total(1), 200 * 100);
    assert.equal(text.reduce((sum, line) => sum + line.length + 1, 0) + total(2), told);
    assert.ok(
      text.reduce((sum, line) => sum + line.length, 0) > 900_000,
      'nearly a minute at the utmost rate',
    );
  });

  it('are still tried at the end of the task while the server is away', async (t) => {
    const { task, sent, state, pass } = events(t, { arrives: false });
    task.log('the last words');
    const closed = task.close(never);
    for (let i = 0; i < 5; i++) await pass(10_000);
    assert.ok(sent.length >= 3);
    state.arrives = true;
    await pass(10_000);
    await closed;
    assert.equal(sent.at(-1)?.[0]?.message, 'the last words');
  });

  it('are dropped where they could not be sent once the task has to give up', async (t) => {
    const { task, sent, pass } = events(t, { arrives: false });
    task.log('unheard');
    const given = new AbortController();
    const closed = task.close(given.signal);
    await pass(0);
    given.abort();
    await closed;
    assert.equal(sent.length, 1);
  });

  it('are sent by one request at a time', async (t) => {
    const { task, sent, state, pass, release } = events(t);
    state.held = true;
    task.log('one');
    await pass(100);
    task.log('two');
    await pass(5000);
    assert.equal(sent.length, 1);
    release();
    await pass(0);
    await pass(1000);
    assert.equal(sent[1]?.[0]?.message, 'two');
  });

  it('are no longer sent once their task is closed', async (t) => {
    const { task, sent, pass } = events(t);
    await task.close(never);
    task.log('late');
    await pass(5000);
    assert.deepEqual(sent, []);
  });
});

describe('the output of a child', () => {
  it('goes to the log as it came, to events by lines, and the end of stderr to the error report', async (t) => {
    const path = join(await temporaryFolder(t), 'run.log');
    const log = new LogFile(path, 1000);
    const sent: ReportedEvent[] = [];
    const tell = new TaskEvents(async (batch) => void sent.push(...batch));
    const output = new Output(log, tell);
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    output.stdout(stdout);
    output.stderr(stderr);
    stdout.write('::progress 0.5 half\nhello\n');
    stderr.write('::progress 0.9 not here\nError: broken\n');
    stdout.destroy();
    stderr.destroy();
    await until('the lines', () => output.errorText.includes('broken'));
    await tell.close(never);
    await log.close();
    assert.deepEqual(
      sent.map((event) => [event.type, event.message]),
      [
        ['log', 'hello\n::progress 0.9 not here\nError: broken'],
        ['progress', 'half'],
      ],
    );
    assert.match(await readFile(path, 'utf8'), /::progress 0.5 half\nhello\n/);
    assert.equal(output.errorText, '::progress 0.9 not here\nError: broken');
  });

  it('makes the child wait for a slower disk', async (t) => {
    const path = join(await temporaryFolder(t), 'run.log');
    const log = new LogFile(path, 1024 * 1024);
    const output = new Output(log, new TaskEvents(async () => {}));
    const stdout = new PassThrough({ highWaterMark: 1024 * 1024 });
    output.stdout(stdout);
    stdout.write(Buffer.alloc(200_000, 'x\n'));
    await until('the pause', () => stdout.isPaused());
    await until('the disk', () => !stdout.isPaused());
    stdout.end('end\n');
    await until('all of it', () => stdout.closed);
    await log.close();
    assert.equal((await readFile(path)).length, 200_004);
  });
});
