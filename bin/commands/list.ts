import type { CommandClass } from 'clipanion';

/**
 * A command of `jqctl`: what the help says of it in a line, and its class, which is loaded when somebody asks for it.
 */
interface Listed {
  category: 'Jobs' | 'Cluster' | 'Programs' | 'Shell';
  description: string;
  load(): Promise<CommandClass>;
}

/** The commands of `jqctl`, in the order of its help. */
export const COMMANDS = {
  submit: {
    category: 'Jobs',
    description: 'submit a job',
    load: async () => (await import('./submit.ts')).SubmitCommand,
  },
  run: {
    category: 'Jobs',
    description: 'submit a job without a job file',
    load: async () => (await import('./run.ts')).RunCommand,
  },
  check: {
    category: 'Jobs',
    description: 'look at a dataset and pipelines without a server',
    load: async () => (await import('./check.ts')).CheckCommand,
  },
  status: {
    category: 'Jobs',
    description: 'show a job: tasks, ranking, errors, and why tasks wait',
    load: async () => (await import('./status.ts')).StatusCommand,
  },
  logs: {
    category: 'Jobs',
    description: 'print what a job logged, and follow it',
    load: async () => (await import('./logs.ts')).LogsCommand,
  },
  wait: {
    category: 'Jobs',
    description: 'wait until a job has ended, and print it',
    load: async () => (await import('./wait.ts')).WaitCommand,
  },
  artifacts: {
    category: 'Jobs',
    description: 'list the artifacts of a job, and download them',
    load: async () => (await import('./artifacts.ts')).ArtifactsCommand,
  },
  jobs: {
    category: 'Jobs',
    description: 'list jobs, newest first',
    load: async () => (await import('./jobs.ts')).JobsCommand,
  },
  cancel: {
    category: 'Jobs',
    description: 'cancel a job',
    load: async () => (await import('./cancel.ts')).CancelCommand,
  },
  retry: {
    category: 'Jobs',
    description: 'queue the failed tasks of a job again',
    load: async () => (await import('./retry.ts')).RetryCommand,
  },
  resubmit: {
    category: 'Jobs',
    description: 'submit the specification of a job anew, as a new job',
    load: async () => (await import('./resubmit.ts')).ResubmitCommand,
  },
  workers: {
    category: 'Cluster',
    description: 'list the workers',
    load: async () => (await import('./workers.ts')).WorkersCommand,
  },
  stats: {
    category: 'Cluster',
    description: 'show jobs and tasks by status, and the workers alive',
    load: async () => (await import('./stats.ts')).StatsCommand,
  },
  events: {
    category: 'Cluster',
    description: 'print what happened to all jobs and workers, and follow it',
    load: async () => (await import('./events.ts')).EventsCommand,
  },
  top: {
    category: 'Cluster',
    description: 'watch jobs, workers and throughput live',
    load: async () => (await import('./top.ts')).TopCommand,
  },
  machines: {
    category: 'Cluster',
    description: 'show the statecharts that run: as text, Mermaid or XState JSON',
    load: async () => (await import('./machines.ts')).MachinesCommand,
  },
  inspect: {
    category: 'Cluster',
    description: "watch the server's actors in Stately's inspector",
    load: async () => (await import('./inspect.ts')).InspectCommand,
  },
  server: {
    category: 'Programs',
    description: 'run the server',
    load: async () => (await import('./server.ts')).ServerCommand,
  },
  worker: {
    category: 'Programs',
    description: 'run a worker',
    load: async () => (await import('./worker.ts')).WorkerCommand,
  },
  completion: {
    category: 'Shell',
    description: 'print a script that lets the shell complete commands',
    load: async () => (await import('./completion.ts')).CompletionCommand,
  },
} as const satisfies Record<string, Listed>;

export type CommandName = keyof typeof COMMANDS;

export const isCommand = (word: string): word is CommandName => Object.hasOwn(COMMANDS, word);

/** The classes of all commands, for those who tell of each. */
export const everyCommand = (): Promise<CommandClass[]> =>
  Promise.all(Object.values(COMMANDS).map(({ load }) => load()));
