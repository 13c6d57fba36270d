import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { requires } from '../support/requires.ts';
import { said, Warming } from './warm-support.ts';

const needs = requires('python3', 'proc');

/** A runner whose library does this when it is loaded. */
async function withLibrary(t: TestContext, text: string) {
  const warming = await Warming.start(t, { PRELOAD: 'library' });
  await writeFile(join(warming.folder, 'runner', 'library.py'), text);
  return warming;
}

describe('a host in which no fork is safe', needs, () => {
  const unsafe: Record<string, [string, RegExp]> = {
    'that has a thread of Python': [
      'import threading, time\nthreading.Thread(target=time.sleep, args=[1000], daemon=True, name="mine").start()',
      /the host has threads of Python: mine/,
    ],
    'that has a thread which Python does not know of': [
      'import _thread, time\n_thread.start_new_thread(time.sleep, (1000,))',
      /the host has threads that a fork would lose: \S+/,
    ],
    'that runs an event loop': [
      'import asyncio\nasyncio._set_running_loop(asyncio.new_event_loop())',
      /the host runs an event loop/,
    ],
    'that shares a resource tracker': [
      'from multiprocessing import resource_tracker\nresource_tracker.ensure_running()',
      /the host has a resource tracker/,
    ],
    'that has opened a device of a GPU': [
      'import jq_warm, os\njq_warm.DEVICES = ("/dev/zero",)\nos.open("/dev/zero", os.O_RDONLY)',
      /the host has opened \/dev\/zero/,
    ],
    'that has initialised CUDA': [
      'import sys, types\nsys.modules["torch"] = types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: True))',
      /the host has initialised CUDA/,
    ],
    'that has loaded TensorFlow': [
      'import sys, types\nsys.modules["tensorflow"] = types.ModuleType("tensorflow")',
      /the host has loaded tensorflow/,
    ],
  };
  for (const [title, [text, reason]] of Object.entries(unsafe)) {
    it(`${title} starts its attempt cold, and the next host leaves the package out`, async (t) => {
      const warming = await withLibrary(t, text);
      const first = await warming.run(['has', 'library']);
      assert.match(String(first.cold), reason);
      assert.deepEqual([first.code, said(first)], [0, [false]]);
      for (const again of [false, true]) {
        if (again) {
          await warming.warm.close();
          warming.anew();
        }
        const next = await warming.run(['has', 'library']);
        assert.deepEqual([next.cold, said(next)], [null, [false]]);
      }
    });
  }
});

describe('a host in which a fork is safe', needs, () => {
  it('may have threads of a library that ends them before a fork, as OpenBLAS does', async (t) => {
    const library = `import _thread, os, time
go = _thread.allocate_lock()
go.acquire()
def wait():
    go.acquire()
    go.release()
def before():
    go.release()
    while len(os.listdir("/proc/self/task")) > 1:
        time.sleep(0.001)
_thread.start_new_thread(wait, ())
os.register_at_fork(before=lambda: go.locked() and before())`;
    const warming = await withLibrary(t, library);
    const { cold, stdout } = await warming.run(['has', 'library']);
    assert.deepEqual([cold, JSON.parse(stdout)], [null, [true]]);
  });

  it('does not preload what each task has to load itself, even where earlier tasks imported it', async (t) => {
    const warming = await Warming.start(t, { PRELOAD: 'torch' });
    await writeFile(join(warming.folder, 'runner', 'torch.py'), '');
    const { cold, stdout } = await warming.run(['has', 'torch']);
    assert.deepEqual([cold, JSON.parse(stdout)], [null, [false]]);
  });

  it('goes on without a module that cannot be loaded', async (t) => {
    const warming = await withLibrary(t, 'raise SystemExit("not today")');
    assert.deepEqual((await warming.run(['has', 'library'])).cold, null);
  });

  it('starts an attempt cold when its runner asks for that', async (t) => {
    const warming = await Warming.start(t);
    const { cold, code, stdout } = await warming.run(['has', 'cold']);
    assert.deepEqual([cold, code, JSON.parse(stdout)], ['it asks for it', 0, [false]]);
    assert.equal((await warming.run(['has', 'json'])).cold, null);
  });
});
