import type { WorkerView } from '../../machines/schema/views.ts';
import { conditionOf } from '../../machines/worker/condition.ts';
import { bytes, duration } from '../terminal/format.ts';
import { type Examined, type Finding, type Leading, ok, problem, warning } from './finding.ts';
import { objects } from './health-objects.ts';
import { besides, differing, standby, unasked } from './health-servers.ts';
import type { Series } from './series.ts';

/** Seconds that clocks may differ. */
const CLOCKS = { warning: 5, problem: 120 };
/** Bytes of the log of the store, which checkpoints keep far smaller. */
const LARGE_WAL = 512 * 1024 * 1024;
/** Seconds that a task waits beside free slots before somebody should look. */
const LONG_WAIT = 1800;
/** Seconds that a notification waits before somebody should look. */
const LONG_UNHEARD = 900;
/** Seconds before a certificate expires. */
const CERTIFICATE = { warning: 14 * 86_400, problem: 86_400 };
/** Seconds. */
const SLOW = { commit: 1, loop: 0.5 };

const milliseconds = (seconds: number): string => `${Math.round(seconds * 1000)} ms`;

/** What is well and what is not, at least one finding for each part that is there. */
export function examine(found: Examined): Finding[] {
  const { leading } = found;
  const isKnown = 'metrics' in leading;
  const of = (...looks: ((leading: Leading) => Finding[])[]) =>
    isKnown ? looks.flatMap((look) => look(leading)) : [];
  return [
    ...server(found),
    ...certificate(found.own),
    ...(isKnown ? standby(found.server, leading) : unasked(leading)),
    ...differing(found.servers ?? []),
    ...found.beside.flatMap(besides),
    ...of(store, disk, objects),
    ...clocks(found),
    ...(found.workers === null
      ? []
      : [...workers(found.workers, leading), ...versions(found.version, found.ownVersion, found.workers)]),
    ...of(queue, paused, notifications),
  ];
}

function server({ server, version, roundTrip, principal, own: metrics }: Examined): Finding[] {
  const up = Date.now() / 1000 - (metrics.value('process_start_time_seconds') ?? Number.NaN);
  const said = ok(
    'server',
    `${server} runs ${version} for ${duration(up)} and answers ${principal} in ${milliseconds(roundTrip)}`,
  );
  const late = metrics.value('jq_event_loop_delay_seconds', { statistic: 'p99' }) ?? 0;
  if (late < SLOW.loop) return [said];
  return [
    said,
    warning(
      'server',
      `it is late by ${duration(late)}`,
      'its processor is busy: look at the machine, and at /metrics for what is asked of it',
    ),
  ];
}

function store({ notReady, metrics }: Leading): Finding[] {
  if (notReady !== null)
    return [
      problem(
        'store',
        notReady,
        'read the log of the server; look at its disk (jq-server check --state DIR), or at its database',
      ),
    ];
  const database = metrics.value('jq_store_bytes', { file: 'database' }) ?? 0;
  const wal = metrics.value('jq_store_bytes', { file: 'wal' }) ?? 0;
  const commits = metrics.value('jq_commit_duration_seconds_count') ?? 0;
  const mean = commits > 0 ? (metrics.value('jq_commit_duration_seconds_sum') ?? 0) / commits : 0;
  const failed = metrics.value('jq_commit_failures_total') ?? 0;
  const findings = [
    ok(
      'store',
      `commits; ${bytes(database + wal)}${commits > 0 ? `, a commit takes ${milliseconds(mean)}` : ''}`,
    ),
  ];
  if (mean > SLOW.commit)
    findings.push(warning('store', 'commits are slow', 'something else uses the disk, or it fails'));
  if (failed > 0)
    findings.push(
      warning(
        'store',
        `${failed} commit(s) have failed since the start`,
        'the log of the server says when and why',
      ),
    );
  if (wal > LARGE_WAL)
    findings.push(
      warning(
        'store',
        `its log has grown to ${bytes(wal)}`,
        'a reader holds it up; start the server again when it is idle',
      ),
    );
  return findings;
}

function disk({ metrics }: Leading): Finding[] {
  const free = metrics.value('jq_disk_free_bytes');
  const size = metrics.value('jq_disk_size_bytes') ?? 0;
  const reserve = metrics.value('jq_disk_reserve_bytes') ?? 0;
  if (free === undefined)
    return [warning('disk', 'the server cannot tell what is free', 'look at its disk: df')];
  const said = `${bytes(free)} of ${bytes(size)} are free`;
  const act = 'make room on the disk of the state directory, or move it to a larger one';
  if (free < reserve) return [problem('disk', `${said}: artifacts are refused (--reserve-mb)`, act)];
  return [free < 2 * reserve || free < size / 20 ? warning('disk', said, act) : ok('disk', said)];
}

function clocks({ clocks, roundTrip }: Examined): Finding[] {
  if (clocks === null) return [warning('clocks', 'the server does not tell its time', 'make it ready first')];
  const off = clocks.server - clocks.own;
  const apart = Math.abs(off);
  const which = off > 0 ? 'ahead of' : 'behind';
  if (apart <= CLOCKS.warning + roundTrip) return [ok('clocks', 'server and this machine agree')];
  const says = `the server is ${duration(apart)} ${which} this machine`;
  const act = 'set the clock of both by NTP (timedatectl); times of events and jobs are the server’s';
  return [apart > CLOCKS.problem ? problem('clocks', says, act) : warning('clocks', says, act)];
}

function workers(workers: readonly WorkerView[], leading: Examined['leading']): Finding[] {
  const by = (condition: string) => workers.filter((worker) => conditionOf(worker) === condition);
  const alive = by('alive');
  const queued = 'metrics' in leading ? (leading.metrics.value('jq_tasks', { status: 'queued' }) ?? 0) : 0;
  const slots = alive.reduce((sum, worker) => sum + worker.slots_total, 0);
  const used = alive.reduce((sum, worker) => sum + worker.slots_used, 0);
  const findings: Finding[] = [];
  if (alive.length > 0)
    findings.push(
      ok('workers', `${alive.length} worker(s) take tasks, with ${used} of ${slots} slots in use`),
    );
  else if (queued > 0)
    findings.push(problem('workers', `none takes tasks, and ${queued} wait`, 'start one: jq-worker'));
  else findings.push(warning('workers', 'none takes tasks', 'start one: jq-worker'));
  for (const { name, id, suspended } of by('suspended'))
    findings.push(
      warning(
        'workers',
        `${name ?? id} takes no tasks: ${suspended}`,
        'mend that; it looks at itself from time to time',
      ),
    );
  const drained = workers.filter(({ status, drained }) => status === 'alive' && drained);
  for (const { name, id, drained: order } of drained)
    findings.push(
      warning(
        'workers',
        `${name ?? id} is given no tasks: ${order?.by} drains it for ${duration(Date.now() / 1000 - (order?.at ?? 0))}`,
        `when it may have some again: jqctl workers resume ${name ?? id}`,
      ),
    );
  const dead = by('dead');
  if (dead.length > 0)
    findings.push(
      warning(
        'workers',
        `${dead.length} fell silent: ${dead
          .slice(0, 5)
          .map(({ name, id }) => name ?? id)
          .join(', ')}${dead.length > 5 ? ', …' : ''}`,
        'look at their machines and the network; start those that are still needed',
      ),
    );
  return findings;
}

function versions(version: string, ownVersion: string, workers: readonly WorkerView[]): Finding[] {
  const findings: Finding[] = [];
  if (version !== ownVersion)
    findings.push(
      warning(
        'versions',
        `this program is ${ownVersion}, the server ${version}`,
        'update the older of the two',
      ),
    );
  const others = workers.filter((worker) => worker.version_divergent && conditionOf(worker) === 'alive');
  if (others.length > 0)
    findings.push(
      warning(
        'versions',
        `${others.length} worker(s) run another version than the server: ${others
          .slice(0, 5)
          .map(({ name, id, cluster_version }) => `${name ?? id} (${cluster_version})`)
          .join(', ')}`,
        'update them; until then what only one side knows is not used',
      ),
    );
  return findings.length > 0 ? findings : [ok('versions', 'all alike')];
}

/** What waits behind pauses waits for a person. */
function paused({ metrics }: Leading): Finding[] {
  return metrics
    .all('jq_queue_paused_tasks')
    .filter(({ value }) => value > 0)
    .map(({ labels: { kind, name }, value }) => {
      const [what, flag] = kind === 'all' ? ['the queue', ''] : [`${kind} ${name}`, ` --${kind} ${name}`];
      return warning(
        'queue',
        `${what} is paused, and ${value} task(s) wait behind it`,
        `jqctl queue resume${flag}`,
      );
    });
}

function certificate(metrics: Series): Finding[] {
  const expires = metrics.value('jq_tls_certificate_expires_seconds');
  if (expires === undefined) return [];
  const left = expires - Date.now() / 1000;
  const says = left > 0 ? `its certificate expires in ${duration(left)}` : 'its certificate has expired';
  const act = 'put a new one in its place, and send SIGHUP to the server';
  if (left > CERTIFICATE.warning) return [ok('server', says)];
  return [left > CERTIFICATE.problem ? warning('server', says, act) : problem('server', says, act)];
}

function queue({ metrics }: Leading): Finding[] {
  const queued = metrics.value('jq_tasks', { status: 'queued' }) ?? 0;
  const running = metrics.value('jq_tasks', { status: 'running' }) ?? 0;
  const findings = [ok('queue', `${queued} task(s) wait, ${running} run`)];
  const free = metrics.value('jq_slots', { state: 'free' }) ?? 0;
  for (const { labels, value } of metrics.all('jq_queue_oldest_age_seconds')) {
    if (labels.status !== 'queued' || value < LONG_WAIT || free === 0) continue;
    findings.push(
      warning(
        'queue',
        `what requires ${labels.requirement} waits for ${duration(value)}, and ${free} slot(s) are free`,
        'jqctl status JOB says what each worker lacks',
      ),
    );
  }
  return findings;
}

/** Nothing where nobody is to be told of anything. */
function notifications({ metrics }: Leading): Finding[] {
  const pending = metrics.value('jq_notifications_pending') ?? 0;
  const age = metrics.value('jq_notifications_oldest_age_seconds') ?? 0;
  const lost = metrics.value('jq_notifications_given_up_total') ?? 0;
  const arrived = metrics.value('jq_notification_attempts_total', { end: 'delivered' }) ?? 0;
  const act = 'look at the receiver of --notify; the log of the server says what it answers';
  const findings: Finding[] = [];
  if (age > LONG_UNHEARD)
    findings.push(
      warning('notify', `${pending} notification(s) did not arrive, the oldest for ${duration(age)}`, act),
    );
  if (lost > 0)
    findings.push(warning('notify', `${lost} notification(s) were given up since the start`, act));
  return findings.length === 0 && arrived > 0
    ? [ok('notify', `${arrived} notification(s) arrived since the start`)]
    : findings;
}
