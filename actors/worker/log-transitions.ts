import type { Logger } from 'pino';
import type { SnapshotFrom } from 'xstate';
import type { agentMachine } from '../../machines/agent/agent.ts';
import { PREEMPTED } from '../../machines/schema/report.ts';
import { type AgentActor, watch } from './agent.ts';

type Snapshot = SnapshotFrom<typeof agentMachine>;

/** Writes what people want to know of an agent to the log: each change once. */
export function logTransitions(agent: AgentActor, log: Logger, server: string): void {
  let before: Snapshot | undefined;
  watch(agent, (now) => {
    const { context } = now;
    if (linkOf(now) !== linkOf(before)) logLink(now, log, server);
    if (context.linkError && context.linkError.detail !== before?.context.linkError?.detail) {
      const { kind, detail } = context.linkError;
      if (kind === 'refused') log.error({ server }, `the server refuses this worker: ${detail}`);
      else log.warn({ server }, detail);
    }
    const { suspended } = context;
    if (suspended !== null && suspended !== before?.context.suspended) {
      log.error({ why: suspended }, 'this worker takes no tasks; it looks at itself from time to time');
    } else if (suspended === null && before?.context.suspended) log.info('this worker takes tasks again');
    if (context.woken && !before?.context.woken) {
      log.warn('this program stood still for a while; it asks the server before it reports');
    }
    if (noticeOf(now) !== noticeOf(before)) logNotice(now, log);
    if (isOver(now) && !isOver(before)) log.info('there was nothing to do for long enough; it ends');
    const keys = new Set(Object.keys(context.runs));
    for (const key of keys) if (!before?.context.runs[key]) log.info({ run: key }, 'task taken');
    for (const key of Object.keys(before?.context.runs ?? {})) {
      if (!keys.has(key)) log.debug({ run: key }, 'task ended');
    }
    before = now;
  });
}

function logNotice(now: Snapshot, log: Logger): void {
  const tasks = Object.keys(now.context.runs).length;
  const notice = noticeOf(now);
  if (notice === 'given') log.info({ tasks }, 'this worker has to end: it takes no more tasks');
  else if (notice === 'over' && tasks > 0) log.warn({ tasks, reason: PREEMPTED }, 'gives back what it runs');
}

function logLink(now: Snapshot, log: Logger, server: string): void {
  const link = linkOf(now);
  const worker_id = now.context.registered?.worker_id;
  if (link === 'connected') log.info({ server, worker_id }, 'connected');
  else if (link) log.debug({ server, worker_id }, link);
}

function noticeOf(snapshot: Snapshot | undefined): string | undefined {
  const value = snapshot?.value;
  return typeof value === 'object' ? value.active?.notice : undefined;
}
const isOver = (snapshot: Snapshot | undefined): boolean =>
  typeof snapshot?.value === 'object' && snapshot.value.active?.leisure === 'over';

function linkOf(snapshot: Snapshot | undefined): string | undefined {
  const value = snapshot?.value;
  return typeof value === 'object' ? value.active?.link : undefined;
}
