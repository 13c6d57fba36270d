/** What the help says of a command of `jqctl`, in a line. */
interface Listed {
  category: 'Jobs' | 'Cluster' | 'Programs' | 'Shell';
  description: string;
}

/** The commands of `jqctl`, in the order of its help; some have two words. */
export const COMMANDS = {
  submit: {
    category: 'Jobs',
    description: 'submit a job',
  },
  run: {
    category: 'Jobs',
    description: 'submit a job without a job file',
  },
  check: {
    category: 'Jobs',
    description: 'look at a dataset and pipelines without a server',
  },
  predict: {
    category: 'Jobs',
    description: 'predict a dataset with the model of a job, or of a file',
  },
  'model show': {
    category: 'Jobs',
    description: 'show what a model is, and what it was made of',
  },
  status: {
    category: 'Jobs',
    description: 'show a job: tasks, ranking, errors, and why tasks wait',
  },
  logs: {
    category: 'Jobs',
    description: 'print what a job logged, and follow it',
  },
  wait: {
    category: 'Jobs',
    description: 'wait until a job has ended, and print it',
  },
  ranking: {
    category: 'Jobs',
    description: 'print the ranking of a job, also as a table for spreadsheets',
  },
  artifacts: {
    category: 'Jobs',
    description: 'list the artifacts of a job, and download them',
  },
  plot: {
    category: 'Jobs',
    description: 'draw what the best task of a job predicted',
  },
  compare: {
    category: 'Jobs',
    description: 'set jobs side by side: rankings, and what differs',
  },
  export: {
    category: 'Jobs',
    description: 'write everything of a job into a folder, with a report',
  },
  import: {
    category: 'Jobs',
    description: 'submit the job of an exported folder',
  },
  jobs: {
    category: 'Jobs',
    description: 'list jobs, newest first',
  },
  cancel: {
    category: 'Jobs',
    description: 'cancel a job, or some of its tasks',
  },
  requeue: {
    category: 'Jobs',
    description: 'take tasks of a job from their workers and queue them again',
  },
  retry: {
    category: 'Jobs',
    description: 'queue the failed tasks of a job again',
  },
  resubmit: {
    category: 'Jobs',
    description: 'submit the specification of a job anew, as a new job',
  },
  delete: {
    category: 'Jobs',
    description: 'delete jobs that have ended, with their artifacts',
  },
  set: {
    category: 'Jobs',
    description: 'change the name, note, tags or priority of jobs',
  },
  keep: {
    category: 'Jobs',
    description: 'say how long jobs are kept',
  },
  servers: {
    category: 'Cluster',
    description: 'list the servers, and which of them leads',
  },
  workers: {
    category: 'Cluster',
    description: 'list the workers',
  },
  'workers drain': {
    category: 'Cluster',
    description: 'give workers no more tasks; they finish those that they have',
  },
  'workers resume': {
    category: 'Cluster',
    description: 'give workers that were drained tasks again',
  },
  'workers remove': {
    category: 'Cluster',
    description: 'forget workers that have gone',
  },
  queue: {
    category: 'Cluster',
    description: 'show what is queued, and what of it is paused',
  },
  'queue pause': {
    category: 'Cluster',
    description: 'lease nothing more, of all jobs, a type or an owner',
  },
  'queue resume': {
    category: 'Cluster',
    description: 'lease again what was paused',
  },
  stats: {
    category: 'Cluster',
    description: 'show jobs and tasks by status, and the workers alive',
  },
  fleet: {
    category: 'Cluster',
    description: 'keep workers coming and going with what waits, by Slurm or on this machine',
  },
  'fleet status': {
    category: 'Cluster',
    description: 'show what a fleet has, what it would ask for, and why',
  },
  doctor: {
    category: 'Cluster',
    description: 'look for what is wrong with the cluster, and say what to do',
  },
  tokens: {
    category: 'Cluster',
    description: 'add, list, revoke and rotate the tokens of an auth file',
  },
  events: {
    category: 'Cluster',
    description: 'print what happened to all jobs and workers, and follow it',
  },
  top: {
    category: 'Cluster',
    description: 'watch jobs, workers and throughput live',
  },
  machines: {
    category: 'Cluster',
    description: 'show the statecharts that run: as text, Mermaid or XState JSON',
  },
  inspect: {
    category: 'Cluster',
    description: "watch the server's actors in Stately's inspector",
  },
  server: {
    category: 'Programs',
    description: 'run the server',
  },
  worker: {
    category: 'Programs',
    description: 'run a worker',
  },
  completion: {
    category: 'Shell',
    description: 'print a script that lets the shell complete commands',
  },
} as const satisfies Record<string, Listed>;

export type CommandName = keyof typeof COMMANDS;

/** The commands that a command line may mean: each that a word of it begins. */
export const commandsMeant = (argv: readonly string[]): CommandName[] =>
  (Object.keys(COMMANDS) as CommandName[]).filter((name) => argv.includes(name.split(' ')[0] as string));
