import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError, UnreachableError } from '../../gateway/client/errors.ts';
import { Comparison } from '../crash/compare.ts';
import { Ledger } from '../crash/ledger.ts';
import { jobText } from '../crash/load.ts';
import { forgetPeak, memoryOf } from '../support/program.ts';
import { startServerProgram } from '../support/server-program.ts';

export interface SlowOptions {
  state: string;
  /** Milliseconds that a commit takes. */
  slowMs: number;
  seconds: number;
  /** Clients who submit small jobs as fast as they are answered. */
  clients: number;
  /** Then this often, sixty clients submit jobs of nearly 4 MB, all at the same time. */
  waves: number;
}

export interface SlowFigures {
  accepted: number;
  perSecond: number;
  /** Bytes. */
  grownSmall: number;
  heavyAccepted: number;
  heavyRefused: number;
  /** Whose connection broke: on a machine that is busy, bodies may come too slowly for the server to wait. */
  heavyBroken: number;
  grownHeavy: number;
}

const MIB = 1024 * 1024;
const WAVE = 60;

/**
 * A store whose commits take long: many requests share one, all that is answered is stored, and what would not fit
 * into memory is refused with 503 rather than kept.
 */
export async function slowStore(options: SlowOptions): Promise<SlowFigures> {
  const { state, slowMs, clients, waves } = options;
  const server = await startServerProgram({ state, faults: { slowMs } });
  const ledger = new Ledger();
  const submit = submitTo(server.url, ledger);
  try {
    await submit.job('warm', jobText('warm', 1));
    const before = memoryOf(server.pid).resident;
    forgetPeak(server.pid);
    const began = performance.now();
    const end = began + options.seconds * 1000;
    const loops = Array.from({ length: clients }, async (_, i) => {
      for (let n = 0; performance.now() < end; n++) await submit.job(`s${i}-${n}`, jobText(`s${i}-${n}`, 1));
    });
    await Promise.all(loops);
    const accepted = ledger.size - 1;
    const perSecond = accepted / ((performance.now() - began) / 1000);
    const grownSmall = memoryOf(server.pid).peak - before;

    const padding = 'x'.repeat(4 * MIB - 4096);
    const large = (name: string) => jobText(name, 1).replace('"padding":""', `"padding":"${padding}"`);
    const answers: Answer[] = [];
    for (let wave = 0; wave < waves; wave++) {
      const names = Array.from({ length: WAVE }, (_, i) => `heavy-${wave}-${i}`);
      answers.push(...(await Promise.all(names.map((name) => submit.job(name, large(name))))));
    }
    const count = (answer: Answer) => answers.filter((given) => given === answer).length;
    const grownHeavy = memoryOf(server.pid).peak - before;
    assert.deepEqual(await new Comparison(state, ledger).make(), []);
    return {
      accepted,
      perSecond,
      grownSmall,
      heavyAccepted: count('accepted'),
      heavyRefused: count('refused'),
      heavyBroken: count('broken'),
      grownHeavy,
    };
  } finally {
    await submit.close();
    await server.kill();
  }
}

type Answer = 'accepted' | 'refused' | 'broken';

function submitTo(url: string, ledger: Ledger) {
  // As many connections as there are requests at the same time.
  const pool = Array.from({ length: 8 }, () => new ClusterClient({ server: url, timeoutMs: 120_000 }));
  let next = 0;
  return {
    /** A refusal has to be a 503 that says when to come back. */
    async job(name: string, text: string): Promise<Answer> {
      ledger.submitted.add(name);
      const client = pool[next++ % pool.length] as ClusterClient;
      try {
        const { id } = await client.call('submitJob', { text });
        ledger.add({ what: 'job', name, id, text });
        return 'accepted';
      } catch (fault) {
        if (fault instanceof UnreachableError) return 'broken';
        if (!(fault instanceof ResponseError)) throw fault;
        assert.deepEqual([fault.status, fault.code], [503, 'overloaded']);
        assert.ok((fault.retryAfter ?? 0) > 0, 'it says when to come back');
        return 'refused';
      }
    },
    close: () => Promise.all(pool.map((client) => client.close())),
  };
}
