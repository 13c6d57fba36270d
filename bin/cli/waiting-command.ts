import { Option } from 'clipanion';
import type { WatchOptions } from '../jobs/follow/watch.ts';
import type { SendOptions } from '../jobs/submit/send-job.ts';
import type { ClientCommand } from './client-command.ts';
import { usageError } from './exit.ts';
import { allowFailedFlag, timeoutOf } from './flags.ts';
import { value } from './usage.ts';

// biome-ignore lint/suspicious/noExplicitAny: what TypeScript asks of a class that is mixed in
type Base = abstract new (...args: any[]) => ClientCommand;

/** A command that may stay until a job has ended: `--wait`, and what says how. */
export function waiting<B extends Base>(base: B) {
  abstract class WaitingCommand extends base {
    wait = Option.Boolean('--wait', false, { description: 'wait until the job has ended' });
    timeout = Option.String(
      '--timeout',
      value('SECONDS', 'with --wait: give up waiting after so many seconds'),
    );
    allowFailed = allowFailedFlag();

    /** How to wait; undefined where nobody does. @throws CliError for what says how to wait without `--wait` */
    protected waitOptions(): WatchOptions | undefined {
      if (this.timeout !== undefined && !this.wait) throw usageError('--timeout needs --wait');
      if (this.allowFailed && !this.wait) throw usageError('--allow-failed needs --wait');
      const seconds = timeoutOf(this.timeout);
      return this.wait ? { seconds, allowFailed: this.allowFailed } : undefined;
    }
  }
  return WaitingCommand;
}

/** A command that submits a job: `--upload`, and it may wait. */
export function sending<B extends Base>(base: B) {
  abstract class SendingCommand extends waiting(base) {
    upload = Option.Boolean('--upload', false, {
      description: 'upload the files that the job names on this machine',
    });

    /** @throws CliError as of `waitOptions` */
    protected sendOptions(): SendOptions {
      return { upload: this.upload, wait: this.waitOptions() };
    }
  }
  return SendingCommand;
}
