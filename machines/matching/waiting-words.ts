/** What keeps a task from workers, in words: the terminal reads them here, the client for Python from a module made of this. */
export interface WaitingWords {
  /** Of what `unmet` of matching.ts writes, or what else keeps a worker from a task, from its beginning to its end. */
  pattern: string;
  /** Where no worker will do; `{1}` stands for what the first group of the pattern found. */
  none: string;
  /** What comes behind "2 of 3 workers"; null: the sentence for none of them says it. */
  some: string | null;
  /** Whether it is about workers, and nothing that the task asks for. */
  about: boolean;
}

/** What no worker has, and how to start one that has it. */
const lacks = (pattern: string, what: string, how = ''): WaitingWords => ({
  ...{ pattern, none: `no worker has ${what}${how}`, some: `without ${what}`, about: false },
});

/** The first whose pattern fits counts. */
export const WAITING_WORDS: readonly WaitingWords[] = [
  {
    ...{ pattern: 'worker_fault', about: true, some: 'avoided after a fault of its own' },
    none: 'every worker reported a fault of its own for it',
  },
  {
    ...{ pattern: 'ends_too_early', about: true, some: 'with too little time left' },
    none: 'every worker ends before it would be done (start one with more time)',
  },
  {
    ...{ pattern: 'suspended', about: true, some: 'suspended' },
    none: 'every worker is suspended (jqctl workers says why)',
  },
  {
    ...{ pattern: 'draining', about: true, some: 'told to end' },
    none: 'every worker was told to end (start another one with: jq-worker)',
  },
  {
    ...{ pattern: 'drained', about: true, some: 'drained' },
    none: 'every worker is drained (jqctl workers resume WORKER)',
  },
  { pattern: 'paused', none: 'the queue is paused (jqctl queue)', some: null, about: true },
  { pattern: 'paused\\.(type|owner)=(.*)', none: '{1} {2} is paused (jqctl queue)', some: null, about: true },
  {
    ...{ pattern: 'owner_limit', some: null, about: true },
    none: 'its owner has as many tasks under way as allowed (--max-running-per-owner)',
  },
  { ...lacks('path=(.*)', 'the path {1}'), about: true },
  lacks('labels\\.dataset\\.(.*)=true', 'the dataset {1}', ' (start one with --dataset {1}=PATH)'),
  {
    ...{ pattern: 'capabilities\\.python_entrypoint', some: 'without --allow-python', about: false },
    none: 'no worker runs python_entrypoint pipelines (start one with --allow-python)',
  },
  lacks('capabilities\\.catalog', 'a catalog of datasets', ' (start one with --catalog FILE|URL)'),
  lacks('labels\\.(.*)', 'the label {1}'),
  lacks('packages\\.nirs4all', 'nirs4all', ' (start one with --python INTERPRETER)'),
  lacks('(?:packages|capabilities)\\.(.*)', '{1}'),
  lacks('min_memory_gb=(.*)', '{1} GiB of memory'),
  lacks('min_gpu_count=1', '1 GPU'),
  lacks('min_gpu_count=(.*)', '{1} GPUs'),
  lacks('(.*)', '{1}'),
];

/** What is said whatever the task asks for. */
export const WAITING_SENTENCES = {
  no_worker: 'no worker is alive; start one with: jq-worker',
  backoff: 'it failed, and is tried again later (retry.backoff_seconds)',
  busy: 'every worker that fits is busy',
  blocked: 'no worker can take it now',
  unmet: 'no worker has all that is asked for',
} as const;

const PATTERNS = WAITING_WORDS.map(({ pattern }) => new RegExp(`^(?:${pattern})$`, 's'));

/** The words for a requirement, with what it names in their places. */
export function waitingWords(requirement: string): WaitingWords {
  for (const [i, pattern] of PATTERNS.entries()) {
    const found = pattern.exec(requirement);
    if (!found) continue;
    const words = WAITING_WORDS[i] as WaitingWords;
    const filled = (text: string) => text.replace(/\{(\d)\}/g, (_, group) => found[Number(group)] ?? '');
    return { ...words, none: filled(words.none), some: words.some && filled(words.some) };
  }
  throw new TypeError('the last pattern fits everything');
}
