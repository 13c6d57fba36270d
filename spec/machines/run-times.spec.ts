import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { remainingWords } from '../../machines/job/remaining.ts';
import {
  estimateOf,
  expectedSeconds,
  type RunTimes,
  withoutStart,
  withRunTime,
  withStart,
} from '../../machines/job/run-times.ts';
import { newSelection } from '../../machines/job/selection.ts';
import { jobContext } from './samples.ts';

const counts = (some: Parameters<typeof jobContext>[0]) => jobContext(some).counts;

const timesOf = (list: readonly number[]) =>
  list.reduce<RunTimes | null>((times, seconds) => withRunTime(times, seconds), null);

/** Two attempts that began so long after the submission of the job, together. */
const since = (seconds: number): RunTimes => withStart(withStart(timesOf([4, 4, 4]), seconds), seconds);

const running = (changes: Partial<Parameters<typeof estimateOf>[0]> = {}) => ({
  status: 'running' as const,
  counts: counts({ queued: 10, running: 2 }),
  run_times: timesOf([4, 4, 4]),
  selection: null,
  created_at: 998,
  updated_at: 1000,
  ...changes,
});

/** Numbers from 0 to 1, the same each time (Lehmer, 1951). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}

describe('how long a job will still take', () => {
  it('follows from how long the tasks took that ended, and from how many run at once', () => {
    const { ends_at, num_timed } = estimateOf(running()) ?? assert.fail();
    assert.equal(num_timed, 3);
    // Ten tasks of four seconds on two slots, and what is left of those that run.
    assert.ok(ends_at > 1000 + 20 && ends_at < 1000 + 26, `${ends_at}`);
    const four = estimateOf(running({ counts: counts({ queued: 10, leased: 2, running: 2 }) }));
    assert.ok((four?.ends_at ?? 0) < ends_at);
  });

  it('is longer where those that run have done so for longer than those took that ended', () => {
    const endsAt = (started: number) =>
      estimateOf(running({ run_times: since(started), created_at: 990 }))?.ends_at ?? 0;
    assert.ok(endsAt(9.5) > endsAt(8), 'the later they began, the more is left of them');
    assert.ok(endsAt(0) > endsAt(9) + 5);
    const ended = withoutStart(withStart(timesOf([4]), 7), 7);
    assert.deepEqual([ended.since, ended.since_squared], [0, 0], 'one that is over is not counted on');
  });

  it('is the less certain the more the times differ, and the fewer of them there are', () => {
    const width = (times: number[]) => {
      const { earliest, latest } = estimateOf(running({ run_times: timesOf(times) })) ?? assert.fail();
      return latest - earliest;
    };
    assert.ok(width([2, 4, 6]) > width([4, 4, 4]));
    assert.ok(width([4]) > width([4, 4, 4]));
    assert.ok(width(Array(100).fill(4)) < width([4, 4, 4]));
  });

  it('is not told while nothing runs, nothing has ended, or it is not known how many tasks there will be', () => {
    for (const changes of [
      { counts: counts({ queued: 10 }) },
      { run_times: null },
      { status: 'cancelling' as const },
      { status: 'succeeded' as const },
      { selection: newSelection(['corn'], [], { refit: true, variants: null }) },
    ]) {
      assert.equal(estimateOf(running(changes)), null);
    }
  });

  it('counts what will be refitted', () => {
    const selection = newSelection(['corn', 'rye'], [], { refit: true, variants: 5 });
    const more = estimateOf(running({ selection }))?.ends_at ?? 0;
    assert.ok(more > (estimateOf(running())?.ends_at ?? 0));
  });

  for (const [slots, tasks] of [
    [1, 40],
    [4, 60],
    [16, 200],
  ] as const) {
    for (const [name, seconds] of [
      ['that differ by half', (u: number) => 5 + 10 * u],
      ['few of which are long', (u: number) => 2 + 20 * u ** 3],
    ] as const) {
      it(`is likely right: ${tasks} tasks ${name} on ${slots} slots, asked at a quarter of them`, () => {
        const rounds = 400;
        const next = random(7 + slots);
        let within = 0;
        for (let round = 0; round < rounds; round++) {
          const { estimate, ended } = played(slots, tasks, tasks / 4, () => seconds(next()));
          if (ended >= estimate.earliest && ended <= estimate.latest) within++;
        }
        assert.ok(within / rounds > 0.8, `${within} of ${rounds}`);
      });
    }
  }

  it('counts on a last wave that takes as long as the others, where tasks of about equal length run in step', () => {
    const next = random(11);
    for (const [slots, tasks] of [
      [4, 14],
      [8, 17],
      [4, 12],
    ] as const) {
      const wave = Math.floor((tasks - 1) / slots) * slots;
      let [within, off] = [0, 0];
      const rounds = 300;
      for (let round = 0; round < rounds; round++) {
        // All of a wave have ended but the last, which has others begin.
        const { estimate, ended, at } = played(slots, tasks, Math.max(1, wave - slots), () => 8 + 3 * next());
        if (ended >= estimate.earliest && ended <= estimate.latest) within++;
        off += (estimate.ends_at - ended) / (ended - at) / rounds;
      }
      assert.ok(within / rounds > 0.9, `${tasks} on ${slots}: ${within} of ${rounds}`);
      assert.ok(Math.abs(off) < 0.15, `${tasks} on ${slots}: ${off} off`);
    }
  });

  /** A job whose tasks follow each other on its slots: what was expected of it on the way, and when it ended. */
  function played(slots: number, tasks: number, after: number, seconds: () => number) {
    const free = Array<number>(slots).fill(0);
    const all: { at: number; took: number }[] = [];
    for (let task = 0; task < tasks; task++) {
      const first = free.indexOf(Math.min(...free));
      const took = seconds();
      const at = (free[first] ?? 0) + took;
      free[first] = at;
      all.push({ at, took });
    }
    all.sort((a, b) => a.at - b.at);
    const known = all.slice(0, after);
    const updated_at = known.at(-1)?.at ?? 0;
    const under = all.slice(after).filter(({ at, took }) => at - took <= updated_at + 1e-6);
    const ended = timesOf(known.map(({ took }) => took));
    const estimate = estimateOf({
      ...running(),
      run_times: under.reduce((times, { at, took }) => withStart(times, at - took), ended),
      created_at: 0,
      updated_at,
      counts: counts({
        queued: tasks - known.length - under.length,
        running: under.length,
        succeeded: known.length,
      }),
    });
    return { estimate: estimate ?? assert.fail(), ended: all.at(-1)?.at ?? 0, at: updated_at };
  }

  it('is told in words, also when it turns out otherwise', () => {
    const estimate = { ends_at: 160, earliest: 130, latest: 200, num_timed: 4 };
    const words = (now: number) => remainingWords(estimate, now, (seconds) => `${seconds} s`);
    assert.equal(words(100), 'about 60 s left (30 s to 100 s)');
    assert.equal(words(150), 'about 10 s left (0 s to 50 s)');
    assert.equal(words(170), 'less than 30 s left');
    assert.equal(words(199.9), 'less than 1 s left');
    assert.equal(words(200), 'takes longer than expected');
    const soon = { ends_at: 100.3, earliest: 100, latest: 101.2, num_timed: 4 };
    assert.equal(
      remainingWords(soon, 99.9, (seconds) => `${seconds} s`),
      'about 1 s left',
    );
  });
});

describe('how long one more task of a job is expected to take', () => {
  it('is the median of those that ended, whatever one of them took; not known before the first', () => {
    assert.equal(expectedSeconds(null), null);
    assert.equal(expectedSeconds(withStart(null, 3)), null);
    assert.equal(expectedSeconds(timesOf([8])), 8);
    assert.equal(expectedSeconds(timesOf([8, 2])), 5);
    assert.equal(expectedSeconds(timesOf([900, 2, 8, 3, 1])), 3);
    assert.equal(expectedSeconds(withStart(timesOf([8]), 3)), 8, 'one that begins says nothing');
  });

  it('is near the true median of thousands, in the room of a few numbers, whatever their order', () => {
    const next = random(7);
    const spread: number[] = Array.from({ length: 5000 }, () => Math.exp(8 * next()));
    const rising = [...spread].sort((a, b) => a - b);
    const median = rising[2500] as number;
    // The worst that there is for it: each is longer, or shorter, than all before. The times span three orders of magnitude.
    for (const [list, off] of [
      [spread, 1.3],
      [rising, 2.5],
      [[...rising].reverse(), 2.5],
    ] as const) {
      const times = timesOf(list);
      const found = expectedSeconds(times) ?? 0;
      assert.ok(found < median * off && found > median / off, `${found}, and not ${median}`);
      assert.ok(JSON.stringify(times).length < 250);
    }
    assert.equal(expectedSeconds(timesOf(Array.from({ length: 1000 }, () => 4))), 4);
  });

  it('is the mean in a job that ran under a version that knew no more', () => {
    assert.equal(expectedSeconds({ count: 2, mean: 6, squares: 1, since: 0 }), 6);
  });
});
