import { computed, effect, signal, untracked } from '@preact/signals';
import type { EventView, JobView } from '../../../machines/schema/views.ts';
import { ResponseError, UnreachableError } from '../../client/errors.ts';
import { type Downloadable, download, LARGE_BYTES } from './api/download.ts';
import { Api } from './api/http.ts';
import { Link } from './api/link.ts';
import { Session } from './api/session.ts';
import { wordsOf } from './api/words-of.ts';
import { Address } from './model/address.ts';
import { Cluster } from './model/cluster.ts';
import { EventHub } from './model/event-hub.ts';
import { Freshness } from './model/freshness.ts';
import { JobDetail } from './model/job-detail.ts';
import { JobsPage } from './model/jobs-page.ts';
import { LiveFeed } from './model/live-feed.ts';
import { Notices } from './model/notices.ts';
import { Questions } from './model/questions.ts';
import { Statecharts } from './model/statecharts/statecharts.ts';
import { Theme } from './model/theme.ts';
import { Ticker } from './model/ticker.ts';
import { bytes, counted } from './text/format.ts';

/** The whole page without its looks: everything that views show, and everything that they can do. */
export class Dashboard {
  readonly session = new Session();
  readonly address = new Address();
  readonly hub = new EventHub();
  readonly feed = new LiveFeed();
  readonly notices = new Notices();
  readonly questions = new Questions();
  readonly theme = new Theme();
  readonly ticker = new Ticker();
  /** Another version serves the page now than the one that made it. */
  readonly outdated = signal(false);
  readonly api = new Api({
    // A trailing slash would make its paths count from the page instead of from its folder.
    base: location.href.replace(/\/(?=[?#]|$)/, ''),
    token: () => this.session.token.peek(),
    onServer: (version, now) => {
      if (version !== null && version !== PACKAGE_VERSION) this.outdated.value = true;
      this.ticker.learn(now);
    },
    onReach: (reached) => (reached ? this.freshness.heard() : this.freshness.missed()),
  });
  readonly link = new Link(this.api, this.session, (event) => this.hub.publish(event));
  readonly freshness = new Freshness(this.link.state, this.ticker);
  readonly cluster = new Cluster(this.api, (fault) => this.#failed(fault));
  readonly jobs = new JobsPage(this.api, this.address, (fault) => this.#failed(fault));
  /** The machines while their view is open. */
  readonly statecharts = signal<Statecharts | null>(null);
  /** The job whose row is open. */
  readonly detail = signal<JobDetail | null>(null);
  /** What is shown at all; without a right to read there is nothing. */
  readonly readable = computed(() => this.link.state.value.is !== 'refused');
  #stops: (() => void)[] = [];

  start(): void {
    for (const part of [this.theme, this.ticker, this.address, this.link]) part.start();
    this.#stops = [
      this.session.watch(),
      this.hub.subscribe((event) => this.#heard(event)),
      this.#onTokenChange(),
      this.#whileReadable(),
      this.#whileJobOpen(),
      this.#whileStatecharts(),
      effect(() => {
        if (this.link.state.value.is === 'live') untracked(() => this.#touchAll());
      }),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    for (const part of [this.link, this.feed, this.address, this.ticker, this.theme]) part.stop();
  }

  async cancel(job: JobView): Promise<void> {
    const { num_running, num_queued } = job.aggregate;
    const sure = await this.questions.ask({
      title: `Cancel ${titleOf(job)}?`,
      text: `${counted(num_running, 'running task')} will be told to stop, ${counted(num_queued, 'waiting task')} will not run. This cannot be undone.`,
      yes: 'Cancel the job',
      no: 'Keep it',
      tone: 'danger',
    });
    if (sure) await this.#act(job, 'cancel', 'Cancellation requested');
  }

  retry(job: JobView): Promise<void> {
    return this.#act(job, 'retry', 'Queued again');
  }

  /** Opens the row of a job, or closes it. */
  toggle(jobId: string): void {
    const { job } = this.address.place.peek();
    this.address.go({ job: job === jobId ? '' : jobId, tab: '' });
  }

  async download(artifact: Downloadable, what: string): Promise<void> {
    const size = artifact.size_bytes ?? 0;
    if (size > LARGE_BYTES && !(await this.#insists(size, what))) return;
    const saying = this.notices.say(`Downloading ${what}`);
    try {
      const name = await download(this.api, artifact, (share) =>
        saying.update(`Downloading ${what}: ${Math.floor(share * 100)}%`),
      );
      saying.done(`${name} is downloaded`);
    } catch (error) {
      saying.failed(`${what} was not downloaded: ${wordsOf(error)}`);
    }
  }

  #insists(size: number, what: string): Promise<boolean> {
    return this.questions.ask({
      title: `Download ${bytes(size)}?`,
      text: `The browser has to hold all of ${what} until it is saved, since a link cannot carry your token. For files of this size 'jqctl artifacts JOB --out DIR' is the better way.`,
      yes: 'Download it here',
      no: 'Leave it',
      tone: 'plain',
    });
  }

  async #act(job: JobView, verb: 'cancel' | 'retry', done: string): Promise<void> {
    try {
      await this.api.post<JobView>(`v1/jobs/${encodeURIComponent(job.id)}/${verb}`);
      this.notices.say(`${done}: ${titleOf(job)}`);
    } catch (error) {
      this.notices.say(`${titleOf(job)}: ${wordsOf(error)}`, 'bad');
      this.#failed(error);
    }
    // Who acted does not want to wait.
    await Promise.all([this.jobs.refresher.now(), this.detail.peek()?.refresher.now()]);
  }

  #heard(event: EventView): void {
    this.feed.take(event);
    this.cluster.heard(event);
    if (event.type.startsWith('job_') || event.type.startsWith('task_')) this.jobs.refresher.touch();
  }

  /** While the connection was lost, anything may have happened. */
  #touchAll(): void {
    this.cluster.touch();
    this.jobs.refresher.touch();
    this.detail.peek()?.refresher.touch();
    this.statecharts.peek()?.refresher.touch();
  }

  /** A credential that fails, or a server that is away, concerns the connection too. */
  #failed(error: unknown): void {
    const concerns = error instanceof ResponseError ? error.denied : error instanceof UnreachableError;
    if (concerns) this.link.suspect();
  }

  #onTokenChange(): () => void {
    let used = this.session.token.peek();
    return effect(() => {
      if (this.session.token.value === used) return;
      used = this.session.token.value;
      this.link.restart();
    });
  }

  /** With a credential there is something to load; after a change of it, everything anew. */
  #whileReadable(): () => void {
    const known = computed(() => this.session.me.value !== null);
    return effect(() => {
      if (!known.value) return;
      untracked(() => {
        this.cluster.start();
        this.jobs.start();
      });
      return () => {
        this.cluster.stop();
        this.jobs.stop();
      };
    });
  }

  #whileStatecharts(): () => void {
    const open = computed(
      () => this.session.me.value !== null && this.address.place.value.view === 'statecharts',
    );
    return effect(() => {
      if (!open.value) {
        this.statecharts.value = null;
        return;
      }
      const failed = (error: unknown) => this.#failed(error);
      const statecharts = new Statecharts(this.api, this.hub, this.address, failed);
      this.statecharts.value = statecharts;
      untracked(() => statecharts.start());
      return () => statecharts.stop();
    });
  }

  #whileJobOpen(): () => void {
    const id = computed(() => (this.session.me.value === null ? '' : this.address.place.value.job));
    return effect(() => {
      if (id.value === '') {
        this.detail.value = null;
        return;
      }
      const detail = new JobDetail(id.value, this.api, this.hub, this.address, (fault) =>
        this.#failed(fault),
      );
      this.detail.value = detail;
      untracked(() => detail.start());
      return () => detail.stop();
    });
  }
}

export const titleOf = (job: JobView): string => job.name || job.id;
