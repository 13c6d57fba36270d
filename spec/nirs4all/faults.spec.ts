import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { outcomeOf } from '../../actors/worker/child/ending.ts';
import type { Nirs4allRunner } from '../../actors/worker/runners/nirs4all/index.ts';
import { wrongWith } from '../../actors/worker/runners/wrong-with.ts';
import { describeWithLibrary } from './python.ts';
import {
  type Ended,
  GASOLINE,
  pipelineFile,
  runSpec,
  runTask,
  scratch,
  type TaskInput,
  writePipeline,
} from './support.ts';

const good = { pipeline: pipelineFile('scaled-pls'), dataset: GASOLINE };

/** A task with a pipeline that is built by a module of this text. */
function built(source: string, entrypoint = 'recipe'): TaskInput {
  const bundle = scratch();
  writeFileSync(join(bundle, 'recipe.py'), source);
  return { dataset: GASOLINE, pipeline: { mode: 'entrypoint', entrypoint, sys_path: [bundle] } };
}

/** What the worker makes of it, and how the runner ended. */
async function failureOf(runner: Nirs4allRunner, task: TaskInput) {
  const ended: Ended = await runTask(runner, task);
  const { code, stderr } = ended;
  const outcome = await outcomeOf({
    end: { code, signal: null, seconds: 1, survivors: [] },
    file: { path: join(ended.folder, 'result.json'), base: ended.folder },
    errorText: stderr.trim(),
    fingerprints: {},
    library: { name: 'nirs4all', version: undefined },
    ownFault: async () => null,
  });
  assert.ok(outcome.verb === 'fail');
  return { ...ended, ...outcome.failure };
}

describeWithLibrary(
  'a fault of the input ends a task for good, in one line that says what is wrong',
  (runner) => {
    const faults: Record<string, { task: TaskInput; says: RegExp }> = {
      'a missing pipeline file': {
        task: { ...good, pipeline: '/no/such/pipeline.yaml' },
        says: /^Error: pipeline not found: \/no\/such\/pipeline\.yaml$/,
      },
      'a directory for a pipeline': {
        task: { ...good, pipeline: GASOLINE },
        says: /^Error: pipeline is a directory, not a file: /,
      },
      'a pipeline that is not YAML': {
        task: { ...good, pipeline: writePipeline('pipeline:\n  - [a\n', 'broken.yaml') },
        says: /^Error: Invalid YAML in \S+broken\.yaml Error at line 3, column 1: /,
      },
      'a step of a module that is not there': {
        task: {
          ...good,
          pipeline: writePipeline(
            '[{"class": "sklearn.nonexistent.Foo"}, {"model": "sklearn.linear_model.Ridge"}]',
            'foo.json',
          ),
        },
        says: /^Error: Failed to import sklearn\.nonexistent\.Foo: ModuleNotFoundError: .* \(then: .*\)$/,
      },
      'a missing dataset': {
        task: { ...good, dataset: '/no/such/dataset' },
        says: /^Error: dataset not found: \/no\/such\/dataset$/,
      },
      'a folder without data': {
        task: { ...good, dataset: scratch() },
        says: /^Error: Invalid dataset configuration: No data files found in folder: /,
      },
      'a dataset description that is not JSON': {
        task: { ...good, dataset: writePipeline('{"train_x": ', 'dataset.json') },
        says: /^Error: dataset description cannot be read: \S+dataset\.json: /,
      },
      'an option that nirs4all does not have': {
        task: { ...good, params: { random_stat: 42 } },
        says: /^Error: .*does not yet honor the run\(\) option 'random_stat'\.$/,
      },
      'an option that is the worker’s': {
        task: { ...good, params: { workspace_path: '/shared' } },
        says: /^Error: params\.workspace_path is decided by the worker; leave it out$/,
      },
      'an entrypoint in a module that is not there': {
        task: built('', 'missing.recipe:build'),
        says: /^Error: pipeline: there is no module 'missing'$/,
      },
      'an entrypoint that is not there': {
        task: built('PIPELINE = []', 'recipe:build_it'),
        says: /^Error: pipeline: module 'recipe' has no function 'build_it'$/,
      },
      'an entrypoint that is no function, by its default name': {
        task: built('build_pipeline = []'),
        says: /^Error: pipeline: module 'recipe' has no function 'build_pipeline'$/,
      },
      'an entrypoint that returns nothing': {
        task: built('def build_pipeline(): pass'),
        says: /^Error: pipeline: recipe:build_pipeline returned nothing$/,
      },
    };
    for (const [title, { task, says }] of Object.entries(faults)) {
      it(title, async () => {
        const { code, stderr, error, retriable } = await failureOf(runner, task);
        assert.equal(code, 2);
        assert.match(stderr.trimEnd(), says);
        assert.equal(stderr.trimEnd().split('\n').length, 1);
        assert.equal(error, stderr.trimEnd());
        assert.equal(retriable, false);
      });
    }
  },
);

describeWithLibrary(
  'an exception ends an attempt, with the exception first and its traceback after it',
  (runner) => {
    const model = `
from sklearn.linear_model import LinearRegression
class Unlucky(LinearRegression):
    def fit(self, X, y, **options):
        raise RuntimeError("no luck with %d rows" % len(X))
def build_pipeline():
    from sklearn.model_selection import KFold
    return [KFold(3), {"model": Unlucky()}]
`;
    const exceptions: Record<string, { task: TaskInput; error: string; place: RegExp; fault?: 'worker' }> = {
      'in a model': {
        task: built(model),
        error: 'RuntimeError: no luck with 30 rows',
        place: /recipe\.py", line 5, in fit/,
      },
      'after something that nirs4all went on without': {
        task: built(
          'def build_pipeline():\n    print("Failed to import a.B: ImportError")\n    return 1 / 0',
        ),
        error: 'Failed to import a.B: ImportError (then: ZeroDivisionError: division by zero)',
        place: /recipe\.py", line 3, in build_pipeline/,
      },
      'in the entrypoint': {
        task: built('def build_pipeline():\n    return 1 / 0'),
        error: 'ZeroDivisionError: division by zero',
        place: /recipe\.py", line 2, in build_pipeline/,
      },
      'in the module, which imports one that this worker lacks': {
        task: built('import no_such_dependency'),
        error: "ModuleNotFoundError: No module named 'no_such_dependency'",
        place: /recipe\.py", line 1, in <module>/,
        fault: 'worker',
      },
      'without a message': {
        task: built('def build_pipeline():\n    raise StopIteration'),
        error: 'StopIteration',
        place: /recipe\.py", line 2, in build_pipeline/,
      },
      'that would end the interpreter': {
        task: built('import sys\ndef build_pipeline():\n    sys.exit(2)'),
        error: 'SystemExit: 2',
        place: /recipe\.py", line 3, in build_pipeline/,
      },
    };
    for (const [title, { task, error, place, fault }] of Object.entries(exceptions)) {
      it(title, async () => {
        const failure = await failureOf(runner, task);
        assert.equal(failure.code, 1);
        assert.equal(failure.stderr.split('\n')[0], `Error: ${error}`);
        assert.ok(failure.error === error || failure.error === `Error: ${error}`, failure.error);
        assert.match(String(failure.traceback), place);
        assert.deepEqual([failure.retriable, failure.fault], [true, fault ?? 'task']);
      });
    }
  },
);

describeWithLibrary('a library that cannot be loaded', (runner) => {
  const damages: [string, string, RegExp][] = [
    [
      'for what it needs of the system',
      'raise ImportError("libopenblas.so.0: cannot open shared object file")',
      /ImportError: libopenblas/,
    ],
    ['since it is empty', '', /AttributeError: module 'nirs4all' has no attribute 'run'/],
    ['since it was cut in the middle', 'def run(', /SyntaxError: /],
  ];
  for (const [why, content, error] of damages) {
    it(`${why} is the fault of the machine, by exit code 69 and by the look of the worker at itself`, async () => {
      const broken = scratch();
      writeFileSync(join(broken, 'nirs4all.py'), content);
      // A folder on the path before the real one, as a half-made installation is.
      const within = (command: readonly string[]) => ['/usr/bin/env', `PYTHONPATH=${broken}`, ...command];
      const damaged = { ...runner, command: within(runner.command), check: within(runner.check) };
      const failure = await failureOf(damaged, good);
      assert.deepEqual([failure.code, failure.fault, failure.retriable], [69, 'worker', true]);
      assert.match(failure.error, new RegExp(`nirs4all cannot be loaded here: ${error.source}`));
      const wrong = await wrongWith(damaged, undefined, new AbortController().signal);
      assert.match(`${wrong}`, /^the runner of nirs4all does not work: /);
      assert.match(`${wrong}`, error);
    });
  }

  it('is found where it is whole', async () => {
    assert.equal(await wrongWith(runner, undefined, new AbortController().signal), null);
  });
});

describeWithLibrary('a task file that is not JSON', (runner) => {
  it('is refused', async () => {
    const { code, stderr } = await runSpec(runner, scratch(), '{"pipeline": ');
    assert.equal(code, 2);
    assert.match(stderr, /^Error: task file cannot be read: .*spec\.json: Expecting value/);
  });
});
