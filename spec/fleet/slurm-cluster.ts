import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { processesWith, quietPort } from '../support/program.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);

/** One node of two cores, with partitions for what specifications ask. Ports, users and directories are its own. */
const configuration = (folder: string, user: string, [ctld, d]: readonly [number, number]) => `
ClusterName=spec
SlurmctldHost=${hostname().split('.')[0]}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=${folder}/munge.sock
CryptoType=crypto/munge
SlurmUser=${user}
SlurmdUser=${user}
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool
SlurmctldLogFile=${folder}/ctld.log
SlurmdLogFile=${folder}/d.log
SlurmctldPidFile=${folder}/ctld.pid
SlurmdPidFile=${folder}/d.pid
SlurmctldPort=${ctld}
SlurmdPort=${d}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
MpiDefault=none
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
NodeName=${hostname().split('.')[0]} NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES PriorityTier=1 PreemptMode=OFF MaxTime=INFINITE
PartitionName=low Nodes=ALL PriorityTier=1 MaxTime=INFINITE
PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF MaxTime=INFINITE
JobSubmitPlugins=lua
`;

/** Refuses an account, as Slurm does where it keeps accounts, which takes a database. */
const SUBMISSION = `
function slurm_job_submit(job, partitions, user)
  if job.account == 'nobodys' then return slurm.ESLURM_INVALID_ACCOUNT end
  return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, user) return slurm.SUCCESS end
`;

/** A real Slurm of one node on the loopback interface; its commands find it by the environment. */
export class SlurmCluster {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async start(): Promise<SlurmCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'jq-slurm-'));
    const cluster = new SlurmCluster(folder);
    try {
      await cluster.#start();
      return cluster;
    } catch (fault) {
      await cluster.stop();
      throw fault;
    }
  }

  async #start(): Promise<void> {
    const at = (name: string) => join(this.folder, name);
    for (const name of ['state', 'spool']) await mkdir(at(name));
    const ports = [await quietPort(), await quietPort()] as const;
    await writeFile(at('slurm.conf'), configuration(this.folder, userInfo().username, ports));
    await writeFile(at('job_submit.lua'), SUBMISSION);
    await writeFile(at('munge.key'), randomBytes(128), { mode: 0o600 });
    process.env.SLURM_CONF = at('slurm.conf');
    await run('munged', [
      ...['--force', `--socket=${at('munge.sock')}`, `--key-file=${at('munge.key')}`, '--num-threads=2'],
      ...[
        `--pid-file=${at('munge.pid')}`,
        `--log-file=${at('munge.log')}`,
        `--seed-file=${at('munge.seed')}`,
      ],
    ]);
    await run('slurmctld');
    await run('slurmd');
    await until('the node of Slurm to be idle', async () => (await this.node()) === 'idle', 60);
  }

  /** The state of its node. */
  async node(): Promise<string> {
    const { stdout } = await run('sinfo', ['--noheader', '--partition=main', '--format=%T']).catch(() => ({
      stdout: '',
    }));
    return stdout.trim();
  }

  /** The node is lost at one blow, with all that runs there, and comes back. @param working in their command lines */
  async loseNode(working: string): Promise<void> {
    const jobs = await this.command('squeue', '--noheader', '--array', '--states=running', '--format=%A');
    const daemon = Number(await readFile(join(this.folder, 'd.pid'), 'utf8'));
    // Those first that would tell of the others' ends.
    const steps = jobs.split('\n').flatMap((id) => processesWith(`slurmstepd: [${id}.`));
    for (const pid of [daemon, ...steps]) process.kill(pid, 'SIGKILL');
    for (const pid of processesWith(working)) process.kill(pid, 'SIGKILL');
    const name = await this.command('sinfo', '--noheader', '--partition=main', '--format=%N');
    await this.command('scontrol', 'update', `nodename=${name}`, 'state=down', 'reason=spec');
    await run('slurmd');
    // Unless it comes back by itself, once its daemon says that it lives.
    await this.command('scontrol', 'update', `nodename=${name}`, 'state=resume').catch(() => '');
    await until('the node to be there again', async () => /idle|mixed/.test(await this.node()), 30);
  }

  async command(program: string, ...flags: string[]): Promise<string> {
    return (await run(program, flags)).stdout.trim();
  }

  /** A job of so many cores that goes on until it is cancelled; gives its id. */
  block(cores: number, ...flags: string[]): Promise<string> {
    const script = ['--wrap', 'exec sleep 3600', '--output=/dev/null', '--parsable'];
    return this.command('sbatch', `--cpus-per-task=${cores}`, ...flags, ...script);
  }

  /** Jobs that have not ended, with their states. */
  async jobs(): Promise<string[]> {
    return (await this.command('squeue', '--noheader', '--array', '--format=%i %T'))
      .split('\n')
      .filter(Boolean);
  }

  /** How many allocations of a template were asked for, ended or not. */
  async asked(name: string): Promise<number> {
    const all = await this.command(
      ...(['squeue', '--noheader', '--array', '--states=all'] as const),
      ...[`--name=${name}`, '--format=%i'],
    );
    return all.split('\n').filter(Boolean).length;
  }

  /** How the jobs of a name ended that have, those that did so first in front. */
  async ended(name: string): Promise<string[]> {
    const flags = ['--noheader', '--array', '--states=all', `--name=${name}`, '--sort=e', '--format=%i %T'];
    const all = (await this.command('squeue', ...flags)).split('\n');
    return all.filter((line) => !/ (PENDING|RUNNING|COMPLETING)$/.test(line));
  }

  /** Ends all jobs that a specification has left. */
  async clear(): Promise<void> {
    if ((await this.jobs().catch(() => [])).length === 0) return;
    await run('scancel', [`--user=${userInfo().username}`]).catch(() => {});
    await until('the jobs of Slurm to end', async () => (await this.jobs()).length === 0, 45).catch(() => {});
  }

  /** Ends all of it, what its jobs have left, too. */
  async stop(): Promise<void> {
    await this.clear();
    for (const name of ['d.pid', 'ctld.pid', 'munge.pid']) await this.#end(join(this.folder, name));
    for (const pid of processesWith(this.folder)) process.kill(pid, 'SIGKILL');
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20 });
  }

  async #end(pidFile: string): Promise<void> {
    const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''));
    if (!(pid > 0)) return;
    process.kill(pid, 'SIGTERM');
    await until('a daemon of Slurm to end', () => !existsSync(`/proc/${pid}/stat`) || isZombie(pid), 20);
  }
}

async function isZombie(pid: number): Promise<boolean> {
  return / Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ' Z '));
}
