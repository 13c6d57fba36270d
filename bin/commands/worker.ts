import { Command, Option } from 'clipanion';
import { BaseCommand } from '../cli/base.ts';
import { caOf, caWords } from '../cli/ca.ts';
import { usageError } from '../cli/exit.ts';
import { integer, number, pairs, serverAddress, time } from '../cli/flags.ts';
import { LOG_LEVELS, logLevel } from '../cli/log-level.ts';
import { announce, serveUntilSignal } from '../cli/serve.ts';
import { tokenFileWarning, tokenFileWords, tokenOf } from '../cli/token.ts';
import { programUsage, value } from '../cli/usage.ts';
import type { RunningWorker } from '../programs/worker.ts';
import { outliveLostOutput } from '../terminal/lost-output.ts';
import type { Output } from '../terminal/output.ts';
import { plain } from '../terminal/plain.ts';

export class WorkerCommand extends BaseCommand {
  static override paths = [['worker']];
  static override usage = programUsage('worker', {
    details: `
      Registers at the server of \`--server\` (else \`JQ_SERVER\`, else \`http://127.0.0.1:8765\`) with the
      credential of \`--token-file\` or \`--token\` (else \`JQ_TOKEN\`), takes tasks and runs each in a child process and a directory
      of its own. While the server is away it waits for it; a finished result is kept until the server has it.

      It runs \`mljs.run\`, \`nirs4all.run\` where the interpreter of \`--python\` has that library, and what
      \`--runner\` names. \`--catalog\` is a JSON or YAML list of \`{id, version, url or path, sha256}\`: datasets
      that tasks name by \`id\` or \`id@version\`.

      Artifacts and datasets of the catalog are fetched once and kept in the cache of \`--cache-dir\`, which workers
      of one machine may share, up to \`--cache-gb\`; 0 keeps nothing.

      On Linux a task of nirs4all is forked from a process that has loaded it, as is one of a \`--runner\` whose
      command ends with \`--serve\`. \`--cold\` starts every task as a new program.

      A task that is cancelled or out of time gets SIGTERM, with all its processes, and SIGKILL after
      \`--cancel-grace\` seconds.

      SIGTERM and Ctrl-C drain: no new task, running ones finish, exit code 0. A second one, or the time of \`--grace\`,
      gives them back: they are queued again, and that costs no attempt.

      With \`--ends-at\` it is given no task that it could not finish by then. In its last \`--drain-seconds\` it takes nothing
      more, in its last 20 s it gives back what still runs, and it ends with exit code 0. In an allocation of Slurm it
      knows the end by itself, and \`--grace\` is 10 s there.
      SIGQUIT drains, too, and leaves what runs all its time, whatever \`--grace\` says.
      \`--json\` prints a line for each event of the program, the first being \`started\`, and
      \`registered\` should the server have been away then.
    `,
    examples: [
      ['A worker with four slots', '$0 --server http://queue.lab:8765 --slots 4'],
      ['With labels and a dataset of its own', '$0 --labels site=lab-a,gpu=no --dataset corn=/data/corn'],
      ['With nirs4all of a virtual environment', '$0 --python /opt/nirs/bin/python'],
      [
        'With a library of your own, and a catalog',
        '$0 --runner "mean=python3 ./mean.py" --catalog sets.yaml',
      ],
    ],
  });

  server = Option.String('--server', value('URL', 'address of the server, or several with commas'));
  token = Option.String('--token', value('TOKEN', 'credential (better in JQ_TOKEN)'));
  tokenFile = Option.String('--token-file', tokenFileWords);
  ca = Option.String('--ca', caWords);
  labels = Option.Array('--labels', [], value('LABELS', 'k=v,k=v; tasks may require them; repeatable'));
  state = Option.String('--state', './worker-state', value('DIR', 'state directory (./worker-state)'));
  slots = Option.String('--slots', '1', value('N', 'tasks at the same time (1)'));
  name = Option.String('--name', value('NAME', 'name in lists (the host name)'));
  memoryGb = Option.String('--memory-gb', value('GIB', 'memory to declare, GiB (what the machine has)'));
  gpus = Option.String('--gpus', value('N', 'GPUs to declare (what nvidia-smi finds)'));
  python = Option.String(
    '--python',
    value('PYTHON', 'the interpreter that may have nirs4all (python3 on the path)'),
  );
  runners = Option.Array(
    '--runner',
    [],
    value('RUNNER', 'LIB=COMMAND or LIB@VERSION=COMMAND, a program for jobs of type LIB.run; repeatable'),
  );
  allowPython = Option.Boolean('--allow-python', false, {
    description: 'run python_entrypoint pipelines (trusted servers only)',
  });
  datasets = Option.Array(
    '--dataset',
    [],
    value('DATASET', 'NAME=PATH, a dataset that this worker alone has; repeatable'),
  );
  catalog = Option.String('--catalog', value('FILE|URL', 'the index of versioned datasets'));
  cacheDir = Option.String('--cache-dir', value('DIR', 'where inputs are kept (in the state directory)'));
  cacheGb = Option.String(
    '--cache-gb',
    value('GIB', 'disk space that they may take, GiB; 0 keeps none (20)'),
  );
  cold = Option.Boolean('--cold', false, {
    description: 'start every task as a new program, also of runners that can be kept warm',
  });
  cancelGrace = Option.String(
    '--cancel-grace',
    value('SECONDS', 'between SIGTERM and SIGKILL for a task that has to stop (5)'),
  );
  grace = Option.String(
    '--grace',
    value('SECONDS', 'what runs may finish for so long after SIGTERM; then it is given back (no limit)'),
  );
  idleExit = Option.String(
    '--idle-exit',
    value('SECONDS', 'end after so long without anything to do (never)'),
  );
  endsAt = Option.String(
    '--ends-at',
    value('TIME', 'when this machine is taken away, RFC 3339 or seconds since the epoch (as Slurm says)'),
  );
  drainSeconds = Option.String(
    '--drain-seconds',
    value('SECONDS', 'so long before that it takes no more tasks (60)'),
  );
  metricsPort = Option.String(
    '--metrics-port',
    value('[ADDRESS:]PORT', 'serve /metrics there, without a credential, on 127.0.0.1 unless told otherwise'),
  );
  logLevel = Option.String('--log-level', 'info', value('LEVEL', `${LOG_LEVELS.join(', ')} (info)`));
  logFile = Option.String('--log-file', value('FILE', 'write the log to this file, not to stderr'));

  protected override async run(output: Output): Promise<number> {
    const options = this.#options();
    outliveLostOutput();
    const warning = await tokenFileWarning(this.tokenFile);
    if (warning !== undefined) output.warn(warning);
    const { startWorker } = await import('../programs/worker.ts');
    const worker = await startWorker(options);
    return serveUntilSignal(worker, output, () => tell(worker, options.server, output));
  }

  #options() {
    const { env } = this.context;
    return {
      server: serverAddress(this.server, env),
      token: tokenOf(this, env),
      ca: caOf(this.ca, env),
      labels: pairs('--labels', this.labels, ','),
      state: this.state,
      slots: integer('--slots', this.slots, { min: 1, max: 100_000 }),
      name: this.name,
      memoryGb:
        this.memoryGb === undefined ? undefined : number('--memory-gb', this.memoryGb, { max: 1_000_000 }),
      gpus: this.gpus === undefined ? undefined : integer('--gpus', this.gpus, { max: 10_000 }),
      allowPython: this.allowPython,
      cold: this.cold,
      python: this.python,
      ownRunners: this.runners,
      datasets: pairs('--dataset', this.datasets),
      catalog: catalogOf(this.catalog),
      cacheDir: this.cacheDir,
      cacheGb:
        this.cacheGb === undefined ? undefined : number('--cache-gb', this.cacheGb, { max: 1_000_000 }),
      graceSeconds:
        this.cancelGrace === undefined
          ? undefined
          : number('--cancel-grace', this.cancelGrace, { max: 86_400 }),
      noticeSeconds: this.grace === undefined ? undefined : number('--grace', this.grace, { max: 86_400 }),
      idleExitSeconds:
        this.idleExit === undefined
          ? undefined
          : number('--idle-exit', this.idleExit, { above: true, max: 2_000_000 }),
      endsAt: this.endsAt === undefined ? undefined : time('--ends-at', this.endsAt),
      drainSeconds:
        this.drainSeconds === undefined
          ? undefined
          : number('--drain-seconds', this.drainSeconds, { max: 86_400 }),
      metricsAt: metricsAddress(this.metricsPort),
      logLevel: logLevel(this.logLevel),
      logFile: this.logFile,
    };
  }
}

function metricsAddress(text: string | undefined): { host: string; port: number } | undefined {
  if (text === undefined) return undefined;
  const [, host, port = text] = /^(.+):([^:\]]*)$/.exec(text) ?? [];
  const address = host?.replace(/^\[(.*)\]$/, '$1') ?? '127.0.0.1';
  return { host: address, port: integer('--metrics-port', port, { max: 65_535 }) };
}

function catalogOf(text: string | undefined): string | undefined {
  const usable = text === undefined || (text !== '' && (!/^\w+:\/\//.test(text) || URL.canParse(text)));
  if (usable) return text;
  throw usageError(`--catalog: '${text}' is neither a file nor an address`);
}

/** Says that the worker is there, and, should the server be away, when it has been registered. */
function tell(worker: RunningWorker, server: string, output: Output): void {
  const { workerId } = worker;
  const working = (id: string) => `${plain(id)} works for ${server}`;
  const waiting = `${server} is away; this worker goes on trying`;
  const event = { event: 'started', server, worker_id: workerId };
  announce(output, event, workerId === null ? waiting : working(workerId));
  if (workerId !== null) return;
  worker.registered.then(
    (id) => announce(output, { event: 'registered', worker_id: id }, working(id)),
    // Should it never be registered, the end of the worker says why.
    () => {},
  );
}

/** `jq-worker`: the same command, whose flags follow the program's name. */
export class WorkerProgram extends WorkerCommand {
  static override paths = [Command.Default];
}
