import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Authority } from '../support/certificates.ts';
import { listenFor } from '../support/listen.ts';
import { ROOT } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, type TestServer, temporaryDirectory } from '../support/server.ts';
import { startServerProgram } from '../support/server-program.ts';
import { cutOff, json, leads, serverThat, standsBy } from '../support/server-that.ts';
import { environment, type Interpreter, needsPython, PYTHONS, pip, python } from './python.ts';
import { startWorker } from './worker.ts';

const CHECKS = join(ROOT, 'spec/python/checks.py');

type Check = (name: string, env?: Record<string, string>) => Promise<void>;

/** An environment with the client of a server, in which checks are run. */
async function checksWith(t: TestContext, { path: base }: Interpreter, { url }: TestServer): Promise<Check> {
  const path = await environment(t, base);
  const said = await pip(path, [`${url}/client/python`]);
  assert.equal(said.code, 0, said.stderr);
  const given = { EXAMPLES: join(ROOT, 'examples'), OUT: await temporaryDirectory(t), JQ_SERVER: url };
  return async (name, env = {}) => {
    const { code, stderr } = await python(path, ['-W', 'error', CHECKS, name], { ...given, ...env });
    assert.equal(code, 0, stderr);
  };
}

/** Something between client and server that loses answers, or breaks them off after some bytes. */
async function between(
  t: TestContext,
  server: TestServer,
  loses: (line: string) => boolean | number,
): Promise<{ url: string; lines: string[] }> {
  const lines: string[] = [];
  const proxy = createServer((incoming, outgoing) => {
    const { method, url: path = '', headers } = incoming;
    const line = `${method} ${path.split('?')[0]}`;
    lines.push(line);
    const isLost = loses(line);
    const passed = request(
      { port: server.port, host: '127.0.0.1', method, path, headers, agent: false },
      (answer) => {
        if (isLost === true) return void answer.resume().on('end', () => incoming.socket.destroy());
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        if (isLost === false) return void answer.pipe(outgoing);
        answer.once('data', (bytes: Buffer) => {
          answer.destroy();
          outgoing.write(bytes.subarray(0, isLost), () => incoming.socket.destroy());
        });
      },
    );
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  return { url: (await listenFor(t, proxy)).url, lines };
}

const PLAIN = {
  paths: 'paths become a job; it has ranking, model, predictions, curves and logs',
  inputs: 'steps, arrays, references and paths of the workers are taken, one or several, with their names',
  wrong_inputs: 'what cannot be sent is refused in a sentence before anything is submitted',
  sweep: 'a sweep gives tasks in the order of their pipelines, and raises at the place of one that failed',
  predicting: 'the best model of a job, that of a task or a file predicts samples, on its own axis',
  failures: 'what fails is an exception with the sentence and the code of the server',
  cancelling: 'a job is waited for so long, cancelled, submitted again and deleted',
  names_of_samples: 'names of samples that look like numbers stay what they are',
  numbers: 'numbers of a job that is submitted again stay as they were written',
  finding: 'jobs are found by id, a part of it, and name',
  tasks_by_name: 'tasks are found as they are printed, and what may be several is refused with those',
  names_of_predictions: 'jobs that predict are called by their data and their model',
  warnings_of_data:
    'what was left out of the data or put right is told once, where it was asked for, and by the card',
  units: 'the places of arrays have a unit where one is given, and those of another unit are refused',
  nameless_values: 'reference values without a name are those that the model predicts',
  logs: 'logs are without lines that only told how far a task was, unless they are asked for',
  axes: 'spectra in another unit are refused before they are sent, with both units',
  words_of_jobs: 'name, note, tags, priority and keeping are changed, and go with what is submitted again',
  moments: 'jobs are found since a date, a time, and so long ago',
  libraries_of_models: 'a model file of another library is refused before it is sent',
  reasons: 'who waits is told why tasks do not run',
  other_threads: 'the same is there for asyncio, where who gives up waiting leaves the job as it is',
  cards: 'a notebook is shown a card in which names are text',
};

describe('the client for Python', needsPython, () => {
  for (const interpreter of PYTHONS) {
    it(`works with ${interpreter.version}`, async (t) => {
      const server = await startTestServer(t);
      const check = await checksWith(t, interpreter, server);
      await startWorker(t, server);
      for (const [name, title] of Object.entries(PLAIN)) await t.test(title, () => check(name));

      await t.test('a submission whose answer was lost makes no second job', async (t) => {
        const lost = new Set<string>();
        const { url } = await between(t, server, (line) => {
          const isFirst = line.startsWith('POST') && !lost.has(line);
          lost.add(line);
          return isFirst;
        });
        await check('lost_answers', { JQ_SERVER: url });
        assert.ok(lost.size >= 3, 'an upload, a submission and a cancellation were lost');
      });

      await t.test(
        'a download that breaks off is taken up, else it says after how many bytes it broke off',
        async (t) => {
          let downloads = 0;
          const { url } = await between(t, server, (line) => {
            if (!line.startsWith('GET /v1/artifacts/')) return false;
            return ++downloads === 3 ? false : 100;
          });
          await check('broken_downloads', { JQ_SERVER: url });
          assert.equal(downloads, 3 + 5);
        },
      );

      await t.test('what was sent is not sent again', async (t) => {
        const { url, lines } = await between(t, server, () => false);
        await check('uploads', { JQ_SERVER: url });
        const of = (line: string) => lines.filter((one) => one === line).length;
        assert.deepEqual([of('POST /v1/jobs'), of('POST /v1/artifacts')], [3, 3]);
      });

      await t.test('of several servers it finds the one that leads', async (t) => {
        const gone = await serverThat(t, leads);
        gone.stop();
        const others = [await serverThat(t, standsBy), await serverThat(t, cutOff)];
        const urls = [gone, ...others, server].map(({ url }) => url);
        await check('uploads', { JQ_SERVER: urls.join(',') });
        assert.deepEqual(
          others.map(({ asked }) => asked.length),
          [1, 1],
        );
      });

      await t.test('of several servers one that answers nothing is soon left', async (t) => {
        const silent = await serverThat(t, () => {});
        await check('silent_server', { JQ_SERVER: `${silent.url},${server.url}` });
        assert.equal(silent.asked.length, 1);
      });

      await t.test('the credential is given, or that of JQ_TOKEN', async (t) => {
        const { url } = await startTestServer(t, { token: 'secret', basePath: '/jq' });
        await check('credentials', { JQ_SERVER: url, JQ_TOKEN: 'secret' });
      });
    });
  }

  it('leaves a server that answers nothing to anybody for the next, none that takes its time, and asks none twice that may have done it', async (t) => {
    const server = await startTestServer(t);
    const check = await checksWith(t, PYTHONS.at(-1) as Interpreter, server);
    const silent = await serverThat(t, () => {});
    const stopped = await startServerProgram({ state: await temporaryDirectory(t) });
    t.after(() => stopped.kill());
    stopped.child.kill('SIGSTOP');
    let answer = () => {};
    const slow = await serverThat(t, (request, response) => {
      if (request.url !== '/healthz') answer = () => json(200, { paused: [] })(request, response);
      else {
        leads(request, response);
        answer();
      }
    });
    // So may something that stands before it; a server names its refusals.
    const busy = await serverThat(t, json(503, { detail: 'busy' }));
    const beside = (url: string) => ({ JQ_SERVER: `${url},${server.url}` });
    await Promise.all([
      check('silent_server_and_changes', beside(silent.url)),
      check('stopped_server', beside(stopped.url)),
      check('slow_server', beside(slow.url)),
      check('nameless_refusal', { JQ_SERVER: busy.url }),
    ]);
    const cancels = 'POST /v1/jobs/job_0000000000000000000000nope/cancel';
    assert.deepEqual(silent.asked.sort(), ['GET /healthz', 'GET /healthz', cancels, 'POST /v1/queue/pause']);
    assert.deepEqual(slow.asked, ['POST /v1/queue/pause', 'GET /healthz']);
    assert.equal(busy.asked.length, 1);
  });

  it('trusts a server by the certificates of --ca alone', requires('openssl'), async (t) => {
    const server = await startTestServer(t);
    const check = await checksWith(t, PYTHONS.at(-1) as Interpreter, server);
    const authority = await Authority.make(t);
    const tls = await authority.certify('queue.lab');
    const { url } = await startTestServer(t, { tls });
    await check('certificates', { JQ_SERVER: url, JQ_CA: authority.ca });
  });
});
