import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { processesIn } from '../../actors/worker/child/cgroup.ts';
import { deferred } from '../support/deferred.ts';
import { inTime } from '../support/in-time.ts';
import { requires } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { temporaryFolder } from './folder.ts';
import { isAlive } from './processes.ts';
import { said, Warming } from './warm-support.ts';

const needs = requires('python3', 'proc');

describe('an attempt that is forked from a warm host', needs, () => {
  it('sees the same as in a process that was started for it', async (t) => {
    const warming = await Warming.start(t);
    const [forked, started] = [
      await warming.run(['looks', 'a b']),
      await warming.run(['looks', 'a b'], { coldly: true }),
    ];
    assert.deepEqual([forked.cold, forked.code, forked.stderr], [null, 0, '']);
    const [warm, cold] = [said<Record<string, unknown>>(forked), said<Record<string, unknown>>(started)];
    // Each has a folder of its own.
    const folder = /\/\d+\/workspace$/;
    for (const seen of [warm, cold]) {
      assert.match(String(seen.folder), folder);
      seen.folder = (seen.environment as Record<string, string>).PWD = '';
    }
    assert.deepEqual(warm, cold);
    assert.deepEqual([warm.argv, warm.marked], [['looks', 'a b'], true]);
  });

  it('draws other random numbers than its neighbours', async (t) => {
    const warming = await Warming.start(t, { PRELOAD: 'random' });
    const drawn = [await warming.run(['draws']), await warming.run(['draws'])].map((one) =>
      said<number[]>(one),
    );
    assert.equal(new Set(drawn.map(([number]) => number)).size, 2);
    assert.equal(new Set(drawn.map(([, pid]) => pid)).size, 2);
  });

  it('reports its exit code, or the signal that ended it', async (t) => {
    const warming = await Warming.start(t);
    for (const [words, code, signal] of [
      [['exits', '0'], 0, null],
      [['exits', '69'], 69, null],
      [['dies', '9'], null, 'SIGKILL'],
      [['dies', '11'], null, 'SIGSEGV'],
    ] as const) {
      const end = await warming.run(words);
      assert.deepEqual([end.code, end.signal, end.cold], [code, signal, null]);
    }
  });

  it('ends like a process that was started for it: with its threads, exit handlers and files', async (t) => {
    const warming = await Warming.start(t);
    const ends = await Promise.all(
      ['0', '7', 'way'].flatMap((code) =>
        [false, true].map(async (coldly) => {
          const end = await warming.run(['leaves', code], { coldly });
          const written = await readFile(join(end.folder, 'left.txt'), 'utf8');
          return { code: end.code, stdout: end.stdout, stderr: end.stderr, written, cold: end.cold };
        }),
      ),
    );
    const left = { stdout: 'thread\nat exit', written: 'written late', cold: null };
    assert.deepEqual(
      ends,
      [0, 0, 7, 7, 1, 1].map((code) => ({ code, ...left, stderr: code === 1 ? 'no way\n' : '' })),
    );
  });

  it('is stopped like any other, and never begins when it is stopped before its fork', async (t) => {
    const warming = await Warming.start(t);
    const stop = new AbortController();
    const end = await warming.run(['waits'], { signal: stop.signal, seen: () => stop.abort() });
    assert.deepEqual([end.signal, end.cold], ['SIGTERM', null]);
    const given = new AbortController();
    // The host of a new worker is still busy with its own start.
    await warming.warm.close();
    warming.anew();
    const late = warming.run(['waits'], { signal: given.signal });
    given.abort();
    await assert.rejects(late, { name: 'AbortError' });
  });

  it('lives in a control group of its own', requires('control group'), async (t) => {
    const warming = await Warming.start(t);
    const { cgroups } = warming.guard;
    const stop = new AbortController();
    let pid = 0;
    let inside: number[] = [];
    await warming.run(['waits'], {
      signal: stop.signal,
      seen: (_, id) => {
        pid = id;
        inside = processesIn(cgroups?.path(warming.lastMark) ?? '');
        stop.abort();
      },
    });
    assert.deepEqual(inside, [pid]);
  });
});

describe('a warm host', needs, () => {
  it('preloads the modules that tasks have imported, also in the next worker program', async (t) => {
    const warming = await Warming.start(t);
    assert.equal(said(await warming.run(['imports', 'sqlite3.dbapi2'])), false);
    const loaded = async () => said<boolean[]>(await warming.run(['has', 'sqlite3.dbapi2']))[0];
    await until('the host to have it', loaded);
    await warming.warm.close();
    warming.anew();
    await until('the next host to have it', loaded);
  });

  it('preloads modules from every place on the path of the interpreter, and nothing that lies deeper there', async (t) => {
    const places = await temporaryFolder(t);
    await mkdir(join(places, 'task'));
    await writeFile(join(places, 'linked.py'), '');
    await writeFile(join(places, 'task', 'deeper.py'), '');
    const warming = await Warming.start(t, { PYTHONPATH: places });
    assert.equal(said(await warming.run(['imports', 'linked', join(places, 'task'), 'deeper'])), false);
    await until('the host to have it', async () => said<boolean[]>(await warming.run(['has', 'linked']))[0]);
    assert.deepEqual(said(await warming.run(['has', 'linked', 'deeper'])), [true, false]);
  });

  it('preloads nothing that a task brought, and nothing that is not of the interpreter', async (t) => {
    const warming = await Warming.start(t);
    await writeFile(join(warming.folder, 'runner', 'brought.py'), '');
    for (let i = 0; i < 2; i++) assert.equal(said(await warming.run(['imports', 'brought'])), false);
  });

  /**
   * Modules beside the runner that note their beginning, and wait for a file and for as long as the host was there
   * before, which is longer than it took with the library; and an order to load them.
   */
  const slowly = async ({ folder, warm }: Warming, ...names: string[]) => {
    const at = (name: string) => join(folder, 'runner', name);
    const now = 'time.clock_gettime(time.CLOCK_BOOTTIME)';
    for (const name of names) {
      const [begun, go] = [at(`${name}.begun`), at(`${name}.go`)].map((path) => JSON.stringify(path));
      const lines = [
        'import os, time',
        `begun = ${now}`,
        'host = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")',
        `open(${begun}, "w").close()`,
        `while not os.path.exists(${go}) or ${now} - begun < begun - host: time.sleep(0.005)`,
      ];
      await writeFile(at(`${name}.py`), [...lines, ''].join('\n'));
    }
    await writeFile(join(folder, 'names.json'), JSON.stringify(names));
    await warm.learn(folder, join(folder, 'names.json'));
    return {
      begun: (name: string) => until(`${name} to be loaded`, () => existsSync(at(`${name}.begun`))),
      go: (name: string) => writeFile(at(`${name}.go`), ''),
    };
  };

  it('forks between two modules when loading them takes longer than the library itself took', async (t) => {
    const warming = await Warming.start(t);
    const { begun, go } = await slowly(warming, 'one', 'other');
    const attempt = warming.run(['has', 'one', 'other']);
    await begun('one');
    await go('one');
    await begun('other');
    const { cold, code, stdout } = await inTime('the attempt', attempt);
    assert.deepEqual([cold, code, JSON.parse(stdout)], [null, 0, [true, false]]);
  });

  it('reports the end of an attempt also while it loads a module', async (t) => {
    const warming = await Warming.start(t);
    const stop = new AbortController();
    const waits = deferred();
    await warming.run(['host']);
    const running = warming.run(['waits'], { signal: stop.signal, seen: () => waits.resolve() });
    await waits.promise;
    const { begun } = await slowly(warming, 'long');
    await begun('long');
    stop.abort();
    const { cold, signal } = await inTime('the attempt', running);
    assert.deepEqual([cold, signal], [null, 'SIGTERM']);
  });

  it('that hangs in an import delays attempts for a bounded time: then they start cold', async (t) => {
    const warming = await Warming.start(t, { PRELOAD: 'hangs' });
    await writeFile(join(warming.folder, 'runner', 'hangs.py'), 'import signal\nsignal.pause()\n');
    warming.anew({ patienceMs: 300 });
    const { cold, code, stdout } = await inTime('the attempt', warming.run(['exits', '0']));
    assert.deepEqual([cold, code, stdout], ['its warm host has not answered in 0.3 s', 0, '']);
  });

  it('is replaced when its packages have changed, while what it runs goes on', async (t) => {
    const warming = await Warming.start(t, { PRELOAD: 'library' });
    const runner = (name: string) => join(warming.folder, 'runner', name);
    const described = runner('library-1.0.dist-info');
    await mkdir(described);
    await writeFile(runner('library.py'), '');
    const [first, again] = [said(await warming.run(['host'])), said(await warming.run(['host']))];
    // What Python writes when it loads them is no change.
    assert.ok(existsSync(runner('__pycache__')));
    assert.equal(first, again);
    const stop = new AbortController();
    const waits = deferred();
    const running = warming.run(['waits'], { signal: stop.signal, seen: () => waits.resolve() });
    await waits.promise;
    await rm(described, { recursive: true });
    await mkdir(described);
    const next = await warming.run(['host']);
    assert.equal(next.cold, null);
    assert.notEqual(said(next), first);
    assert.ok(isAlive(Number(first)));
    stop.abort();
    assert.equal((await running).signal, 'SIGTERM');
    await until('the old host to end', () => !isAlive(Number(first)));
  });

  it('that dies ends its attempts, which report that, and is replaced', async (t) => {
    const warming = await Warming.start(t);
    const host = said(await warming.run(['host']));
    await assert.rejects(
      warming.run(['kills its host']),
      /the warm host of the analysis is gone, and the analysis with it: it ended with SIGKILL/,
    );
    const next = await warming.run(['host']);
    assert.equal(next.cold, null);
    assert.notEqual(said(next), host);
  });

  it('ends with its worker', async (t) => {
    const warming = await Warming.start(t);
    const host = Number(said(await warming.run(['host'])));
    assert.ok(isAlive(host));
    await warming.warm.close();
    assert.equal(isAlive(host), false);
  });

  it('is killed with all that it has forked when the worker dies, even if it does not react', async (t) => {
    const warming = await Warming.start(t);
    const host = Number(said(await warming.run(['host'])));
    process.kill(host, 'SIGSTOP');
    // What a worker that dies cannot help doing.
    warming.guard.stop();
    await until('the host to be killed', () => !isAlive(host));
  });

  const programs: Record<string, [string, RegExp]> = {
    'that cannot serve': [
      'import sys\nif "--serve" in sys.argv: sys.exit("what is --serve?")',
      /what is --s/,
    ],
    'that speaks another language': [
      'import os, sys, signal\nif "--serve" in sys.argv:\n os.write(3, b"hello\\n")\n signal.pause()',
      /ended with SIGKILL/,
    ],
  };
  for (const [title, [text, reason]] of Object.entries(programs)) {
    it(`${title} is tried three times, and its tasks start cold`, async (t) => {
      const program = join((await Warming.start(t)).folder, 'other.py');
      await writeFile(program, `${text}\nprint('cold')`);
      const warming = await Warming.start(t, {}, program);
      for (let i = 0; i < 4; i++) {
        const { cold, code, stdout } = await warming.run(['x']);
        assert.match(String(cold), reason);
        assert.match(String(cold), i < 3 ? /its warm host is gone/ : /its warm host does not work/);
        assert.deepEqual([code, stdout], [0, 'cold\n']);
      }
    });
  }
});
