/** Every statechart of the system; apart from the charts themselves, which not everybody who names them loads. */
export const MACHINE_NAMES = [
  'job',
  'task',
  'worker',
  'supervisor',
  'agent',
  'run',
  'host',
  'notification',
  'template',
  'reign',
] as const;
export type MachineName = (typeof MACHINE_NAMES)[number];
