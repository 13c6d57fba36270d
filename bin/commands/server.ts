import { Command, Option } from 'clipanion';
import { s3Location } from '../../actors/server/blobs/s3/location.ts';
import { SHARES } from '../../actors/server/scheduling/rounds.ts';
import { TRANSPORT_CHOICES } from '../../gateway/transport/choose.ts';
import { SERVICE_NAME } from '../../gateway/version.ts';
import { BaseCommand } from '../cli/base.ts';
import { usageError } from '../cli/exit.ts';
import { httpAddress, integer, lasting, lastingOrNever, number, word } from '../cli/flags.ts';
import { LOG_LEVELS, logLevel } from '../cli/log-level.ts';
import { notifyTarget } from '../cli/notify.ts';
import { announce, serveUntilSignal } from '../cli/serve.ts';
import { storeAddress, storeWords } from '../cli/store.ts';
import { tokenFileWords, tokenSource } from '../cli/token.ts';
import { programUsage, value } from '../cli/usage.ts';
import { outliveLostOutput } from '../terminal/lost-output.ts';
import type { Output } from '../terminal/output.ts';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
/** Seconds; beyond it a lease would outlive any run. */
const LONGEST = 86_400;

export class ServerCommand extends BaseCommand {
  static override paths = [['server']];
  static override usage = programUsage('server', {
    details: `
      Keeps the queue in the state directory and serves REST, WebSocket streams and the dashboard (\`/ui\`).
      Without any credential the server is open: everybody who reaches it has all rights.

      A credential of \`JQ_TOKEN\` counts only when neither \`--token\` nor a principal is given. SIGTERM and
      Ctrl-C end in an orderly way (exit code 0), a second one at once; SIGHUP reads the files of credentials, and of the
      certificate, again.
      \`jq-server check --state DIR\` verifies a state directory. \`--json\` prints a line for each event of the program, the first being \`listening\` with the \`url\`.
    `,
    examples: [
      ['An open server for this machine', '$0 --state ./cluster-state'],
      ['With TLS', '$0 --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --auth-file auth.yaml'],
      ['A server for the network', 'JQ_TOKEN=secret $0 --host 0.0.0.0 --port 8765'],
      ['Two principals', '$0 --principal ann:s3cret:submitter --principal lab:t0ken:executor'],
    ],
  });

  host = Option.String('--host', '127.0.0.1', value('ADDRESS', 'address to listen on (127.0.0.1)'));
  port = Option.String('--port', '8765', value('PORT', 'port to listen on; 0 takes a free one (8765)'));
  advertise = Option.String(
    '--advertise',
    value('URL', 'where other servers on the same store reach it (http://HOSTNAME:PORT)'),
  );
  state = Option.String('--state', './cluster-state', value('DIR', 'state directory (./cluster-state)'));
  objects = Option.String(
    '--objects',
    value('PLACE', 'where artifacts lie: s3://BUCKET[/PREFIX][?path-style] (in the state directory)'),
  );
  presign = Option.Boolean('--presign', false, {
    description:
      'let jqctl and workers fetch artifacts from S3, and bring them, by addresses that are good for minutes',
  });
  store = Option.String('--store', storeWords);
  transport = Option.String(
    '--transport',
    'auto',
    value(
      'TRANSPORT',
      `what speaks HTTP: ${TRANSPORT_CHOICES.join(', ')} (auto: uws wherever it loads, node for TLS)`,
    ),
  );
  token = Option.String('--token', value('TOKEN', 'one credential with all rights (better in JQ_TOKEN)'));
  tokenFile = Option.String('--token-file', tokenFileWords);
  principals = Option.Array(
    '--principal',
    [],
    value('PRINCIPAL', 'NAME:TOKEN:ROLE[,ROLE]; roles are submitter, executor, viewer, admin; repeatable'),
  );
  authFile = Option.String('--auth-file', value('FILE', 'principals as a JSON or YAML list'));
  tlsCert = Option.String(
    '--tls-cert',
    value('FILE', 'serve HTTPS with this certificate (PEM, with its chain)'),
  );
  tlsKey = Option.String('--tls-key', value('FILE', 'private key of the certificate (PEM)'));
  corsOrigins = Option.Array(
    '--cors-origin',
    [],
    value('ORIGIN', 'origin from which browsers may call; repeatable'),
  );
  allowPythonJobs = Option.Boolean('--allow-python-jobs', false, {
    description: 'accept python_entrypoint pipelines (trusted clients only)',
  });
  leaseTtl = Option.String('--lease-ttl', '60', value('SECONDS', 'seconds a lease lasts unrenewed (60)'));
  heartbeat = Option.String(
    '--heartbeat-interval',
    '10',
    value('SECONDS', 'seconds between heartbeats (10)'),
  );
  deadAfter = Option.String(
    '--worker-dead-after',
    '45',
    value('SECONDS', 'seconds of silence after which a worker is dead (45)'),
  );
  maxRequestMb = Option.String(
    '--max-request-mb',
    '16',
    value('MIB', 'largest JSON body, MiB; 0 takes empty ones alone (16)'),
  );
  maxArtifactMb = Option.String(
    '--max-artifact-mb',
    '2048',
    value('MIB', 'largest artifact, MiB; 0 takes empty ones alone (2048)'),
  );
  reserveMb = Option.String(
    '--reserve-mb',
    '256',
    value('MIB', 'free space that artifacts leave to jobs and reports, MiB (256)'),
  );
  share = Option.String(
    '--share',
    'fifo',
    value('HOW', `whose turn free slots are within a priority: ${SHARES.join(', ')} (fifo)`),
  );
  maxRunning = Option.String(
    '--max-running-per-owner',
    value('N', 'tasks that a principal may have under way (any number)'),
  );
  metricsOpen = Option.Boolean('--metrics-open', false, {
    description: 'serve /metrics without a credential, to whoever reaches the server',
  });
  logLevel = Option.String('--log-level', 'info', value('LEVEL', `${LOG_LEVELS.join(', ')} (info)`));
  logFile = Option.String('--log-file', value('FILE', 'write the log to this file, not to stderr'));
  serviceName = Option.String(
    '--service-name',
    SERVICE_NAME,
    value('NAME', `name in JSON and on the dashboard (${SERVICE_NAME})`),
  );
  headerPrefixes = Option.Array(
    '--header-prefix',
    [],
    value(
      'PREFIX',
      'further prefix of the handshake headers, with or without X-, beside X-CLUSTER; repeatable',
    ),
  );

  basePath = Option.String(
    '--base-path',
    '',
    value(
      'PATH',
      'path below which a reverse proxy serves it, such as /jq; it may strip the path or keep it',
    ),
  );

  trustProxy = Option.Array(
    '--trust-proxy',
    [],
    value('ADDRESS', 'proxy, network of them or loopback, whose X-Forwarded-For is believed; repeatable'),
  );

  backupTo = Option.String('--backup-to', value('DIR', 'make backups in this folder by itself'));
  backupEvery = Option.String(
    '--backup-every',
    '24h',
    value('TIME', 'between two backups, such as 30min, 24h or 7d (24h)'),
  );
  backupKeep = Option.String('--backup-keep', '7', value('N', 'backups that are kept (7)'));

  keepJobs = Option.String(
    '--keep-jobs',
    '0',
    value('TIME', 'delete jobs so long after their end, such as 90d; 0 keeps them (0)'),
  );
  keepArtifacts = Option.String(
    '--keep-artifacts',
    '0',
    value('TIME', 'delete artifacts so long after the end of their jobs, such as 30d; 0 keeps them (0)'),
  );
  keepLogs = Option.String(
    '--keep-logs',
    '0',
    value(
      'TIME',
      'delete what tasks logged so long after the end of their jobs, such as 14d; 0 keeps it (0)',
    ),
  );
  keepEvents = Option.String(
    '--keep-events',
    '0',
    value('TIME', 'delete events so long after the end of their jobs, such as 30d; 0 keeps them (0)'),
  );
  maxDiskGb = Option.String(
    '--max-disk-gb',
    '0',
    value('GIB', 'delete the oldest jobs beyond so many GiB of jobs and artifacts; 0: no limit (0)'),
  );
  forgetWorkers = Option.String(
    '--forget-workers',
    '30d',
    value('TIME', 'forget workers that have been gone for so long; 0 keeps them (30d)'),
  );

  notify = Option.String(
    '--notify',
    value('URL', 'tell this address of jobs that end, by signed requests (Standard Webhooks)'),
  );
  notifySecretFile = Option.String(
    '--notify-secret-file',
    value('FILE', 'file that holds alone what they are signed with: whsec_ and 32 random bytes in base64'),
  );

  protected override async run(output: Output): Promise<number> {
    const options = this.#options();
    outliveLostOutput();
    // Loaded only here: a client command starts without the store and the sockets of a server.
    const { startServer } = await import('../programs/server.ts');
    const { isLoopback } = await import('../../gateway/http/admission/origin.ts');
    const server = await startServer(options);
    return serveUntilSignal(server, output, () => {
      const sentence = `${options.serviceName} listens on ${server.url} (dashboard: ${server.url}/ui)`;
      announce(output, { event: 'listening', url: server.url }, sentence);
      if (server.others !== null) {
        announce(output, { event: 'standing_by' }, `stands by: ${server.others}`);
        server.leads.then(
          () => announce(output, { event: 'leading' }, 'leads now'),
          // Its end says why.
          () => {},
        );
      }
      if (server.open && !isLoopback(options.host)) {
        output.warn(
          'no credential is set: everybody who reaches this server has all rights; see --principal',
        );
      }
    });
  }

  #objects() {
    if (this.objects !== undefined) return { objects: s3Location(this.objects), presign: this.presign };
    if (this.presign) throw usageError('--presign: it is of no use without --objects s3://…');
    return {};
  }

  #backups(to: string) {
    if (to.trim() === '') throw usageError('--backup-to: the folder has no name');
    const every = lasting('--backup-every', this.backupEvery);
    return { to, every, keep: integer('--backup-keep', this.backupKeep, { min: 1, max: 100_000 }) };
  }

  #retention() {
    return {
      keepJobs: lastingOrNever('--keep-jobs', this.keepJobs),
      keepArtifacts: lastingOrNever('--keep-artifacts', this.keepArtifacts),
      keepLogs: lastingOrNever('--keep-logs', this.keepLogs),
      keepEvents: lastingOrNever('--keep-events', this.keepEvents),
      forgetWorkers: lastingOrNever('--forget-workers', this.forgetWorkers),
      maxDiskBytes: Math.ceil(number('--max-disk-gb', this.maxDiskGb, { max: 1_000_000 }) * GIB),
    };
  }

  /** What the environment says counts only where nobody is named. */
  #credential() {
    const named = this.principals.length > 0 || this.authFile !== undefined;
    const { token, file } = tokenSource(this, named ? {} : this.context.env);
    return { token, tokenFile: file };
  }

  #tls() {
    const { tlsCert: cert, tlsKey: key } = this;
    if ((cert === undefined) !== (key === undefined)) {
      throw usageError('--tls-cert and --tls-key: one is of no use without the other');
    }
    if (cert?.trim() === '' || key?.trim() === '')
      throw usageError('--tls-cert and --tls-key: a file has no name');
    return cert !== undefined && key !== undefined ? { cert, key } : undefined;
  }

  #options() {
    const seconds = (name: string, text: string) => number(name, text, { above: true, max: LONGEST });
    const mebibytes = (name: string, text: string) =>
      Math.ceil(number(name, text, { max: 1_000_000_000 }) * MIB);
    const leaseTtl = seconds('--lease-ttl', this.leaseTtl);
    const heartbeatInterval = seconds('--heartbeat-interval', this.heartbeat);
    const store = storeAddress(this.store, this.state);
    if (store !== undefined && this.backupTo !== undefined)
      throw usageError(
        '--backup-to: it makes backups of a store in the state directory; one in PostgreSQL has tools of its own',
      );
    if (heartbeatInterval >= leaseTtl) {
      throw usageError(
        '--heartbeat-interval: must be shorter than --lease-ttl, or leases of healthy workers expire',
      );
    }
    return {
      host: this.host,
      port: integer('--port', this.port, { max: 65_535 }),
      advertise: this.advertise === undefined ? undefined : httpAddress('--advertise', this.advertise),
      transport: word('--transport', this.transport, TRANSPORT_CHOICES),
      tls: this.#tls(),
      state: this.state,
      ...this.#objects(),
      store,
      ...this.#credential(),
      principals: this.principals,
      authFile: this.authFile,
      corsOrigins: this.corsOrigins,
      allowPythonJobs: this.allowPythonJobs,
      metricsOpen: this.metricsOpen,
      leaseTtl,
      heartbeatInterval,
      workerDeadAfter: seconds('--worker-dead-after', this.deadAfter),
      maxRequestBytes: mebibytes('--max-request-mb', this.maxRequestMb),
      maxArtifactBytes: mebibytes('--max-artifact-mb', this.maxArtifactMb),
      reserveBytes: mebibytes('--reserve-mb', this.reserveMb),
      share: word('--share', this.share, SHARES),
      maxRunningPerOwner:
        this.maxRunning === undefined
          ? undefined
          : integer('--max-running-per-owner', this.maxRunning, { min: 1 }),
      logLevel: logLevel(this.logLevel),
      logFile: this.logFile,
      serviceName: this.serviceName,
      headerPrefixes: this.headerPrefixes,
      basePath: this.basePath,
      retention: this.#retention(),
      trustProxy: this.trustProxy,
      notify: notifyTarget(this, this.context.env),
      backups: this.backupTo === undefined ? undefined : this.#backups(this.backupTo),
    };
  }
}

/** `jq-server`: the same command, whose flags follow the program's name. */
export class ServerProgram extends ServerCommand {
  static override paths = [Command.Default];
}
