import type { CommandClass } from 'clipanion';
import { COMMANDS, type CommandName, commandsMeant } from './list.ts';

/** The class of each command, which is loaded when somebody asks for it. */
const CLASSES: Record<CommandName, () => Promise<CommandClass>> = {
  submit: async () => (await import('./submit.ts')).SubmitCommand,
  run: async () => (await import('./run.ts')).RunCommand,
  check: async () => (await import('./check.ts')).CheckCommand,
  predict: async () => (await import('./predict.ts')).PredictCommand,
  'model show': async () => (await import('./model-show.ts')).ModelShowCommand,
  status: async () => (await import('./status.ts')).StatusCommand,
  logs: async () => (await import('./logs.ts')).LogsCommand,
  wait: async () => (await import('./wait.ts')).WaitCommand,
  ranking: async () => (await import('./ranking.ts')).RankingCommand,
  artifacts: async () => (await import('./artifacts.ts')).ArtifactsCommand,
  plot: async () => (await import('./plot.ts')).PlotCommand,
  compare: async () => (await import('./compare.ts')).CompareCommand,
  export: async () => (await import('./export.ts')).ExportCommand,
  import: async () => (await import('./import.ts')).ImportCommand,
  jobs: async () => (await import('./jobs.ts')).JobsCommand,
  cancel: async () => (await import('./cancel.ts')).CancelCommand,
  requeue: async () => (await import('./requeue.ts')).RequeueCommand,
  retry: async () => (await import('./retry.ts')).RetryCommand,
  resubmit: async () => (await import('./resubmit.ts')).ResubmitCommand,
  delete: async () => (await import('./delete.ts')).DeleteCommand,
  set: async () => (await import('./set.ts')).SetCommand,
  keep: async () => (await import('./keep.ts')).KeepCommand,
  servers: async () => (await import('./servers.ts')).ServersCommand,
  workers: async () => (await import('./workers.ts')).WorkersCommand,
  'workers drain': async () => (await import('./workers-drain.ts')).WorkersDrainCommand,
  'workers resume': async () => (await import('./workers-drain.ts')).WorkersResumeCommand,
  'workers remove': async () => (await import('./workers-drain.ts')).WorkersRemoveCommand,
  queue: async () => (await import('./queue.ts')).QueueCommand,
  'queue pause': async () => (await import('./queue.ts')).QueuePauseCommand,
  'queue resume': async () => (await import('./queue.ts')).QueueResumeCommand,
  stats: async () => (await import('./stats.ts')).StatsCommand,
  fleet: async () => (await import('./fleet.ts')).FleetCommand,
  'fleet status': async () => (await import('./fleet.ts')).FleetStatusCommand,
  doctor: async () => (await import('./doctor.ts')).DoctorCommand,
  tokens: async () => (await import('./tokens.ts')).TokensCommand,
  events: async () => (await import('./events.ts')).EventsCommand,
  top: async () => (await import('./top.ts')).TopCommand,
  machines: async () => (await import('./machines.ts')).MachinesCommand,
  inspect: async () => (await import('./inspect.ts')).InspectCommand,
  server: async () => (await import('./server.ts')).ServerCommand,
  worker: async () => (await import('./worker.ts')).WorkerCommand,
  completion: async () => (await import('./completion.ts')).CompletionCommand,
};

/**
 * The commands of `jqctl` that a command line may mean. `completion` tells of all of them, so it has them all loaded.
 */
export function commandsIn(argv: readonly string[]): Promise<CommandClass[]> {
  const meant = argv.includes('completion') ? (Object.keys(COMMANDS) as CommandName[]) : commandsMeant(argv);
  return Promise.all(meant.map((name) => CLASSES[name]()));
}
