import { duration } from '../terminal/format.ts';
import { type Finding, type Leading, ok, problem, warning } from './finding.ts';

/** What is wrong with an object store, by what the metrics call it, and what to do. */
const TROUBLES: Readonly<Record<string, [says: string, act: string]>> = {
  unreachable: [
    'does not answer',
    'look at the service and the way to it, and at AWS_ENDPOINT_URL_S3 of the server; until it answers, tasks that leave artifacts wait for their end',
  ],
  refused: [
    'refuses the credentials of the server, or they may not read, write and remove there',
    'look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION of the server, and at the policy of the bucket',
  ],
  no_bucket: [
    'has no bucket of this name',
    'make it again, or name the one that has the objects with --objects',
  ],
  not_ours: [
    'holds no objects of this store there',
    'name the place that does with --objects, or bring them there with: jq-server copy-objects',
  ],
  failing: [
    'answers that it cannot do what it is asked',
    'look at the log of the service; that of the server has its words',
  ],
};

/** Seconds that clocks may differ; services take no more than 900. */
const CLOCKS = { warning: 30, problem: 600 };

/** Nothing where artifacts lie in the state directory. */
export function objects({ metrics }: Leading): Finding[] {
  const [usable] = metrics.all('jq_object_store_usable');
  if (usable === undefined) return [];
  const { trouble = '' } = usable.labels;
  const findings: Finding[] = [];
  if (usable.value === 1) findings.push(ok('objects', wellOf(metrics)));
  else {
    const [says, act] = TROUBLES[trouble] ?? [
      `cannot be used (${trouble})`,
      'the log of the server says why',
    ];
    findings.push(problem('objects', `the object store ${says}`, act));
  }
  const ahead = metrics.value('jq_object_store_clock_ahead_seconds') ?? 0;
  const apart = `${duration(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'}`;
  const says = `the clock of the object store is ${apart} that of the server`;
  const act =
    'set the clocks of both by NTP (timedatectl): beyond a quarter of an hour, what is signed is refused';
  if (Math.abs(ahead) > CLOCKS.problem) findings.push(problem('objects', says, act));
  else if (Math.abs(ahead) > CLOCKS.warning) findings.push(warning('objects', says, act));
  return findings;
}

function wellOf(metrics: Leading['metrics']): string {
  const said = 'the object store answers and takes the credentials';
  return metrics.value('jq_object_store_conditional_writes') === 0
    ? `${said}; it knows no conditional writes, so each is preceded by a look`
    : `${said} and conditional writes`;
}
