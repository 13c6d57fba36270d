/** What tells pipelines apart that are written in the job itself and have no name of their own. */

/** A pipeline as a specification has it. */
interface Reference {
  kind?: unknown;
  name?: unknown;
  inline?: unknown;
}

/** What a task's pipeline is called: what tells it apart where its label does not, else the label. */
export function pipelineName(task: {
  pipeline_label: string;
  pipeline_steps?: string | null;
  role?: string | null;
}): string {
  const name = task.pipeline_steps ?? task.pipeline_label;
  // In a job that selects, the same pipeline stands in several tasks.
  if (task.role === 'refit') return `refit of ${name}`;
  return task.role === 'expansion' ? `variants of ${name}` : name;
}

/** The same of a row of a ranking, with its dataset. */
export const rankedName = (row: {
  pipeline: string;
  pipeline_steps?: string | null;
  dataset: string;
}): string => `${row.pipeline_steps ?? row.pipeline} on ${row.dataset}`;

/** Characters that a description may have, and what is looked at of a pipeline that may be very large. */
const LONGEST = 80;
const MOST = { steps: 30, members: 8, depth: 4, text: 40 };
/** Of the characters that V8 keeps in a byte: one other makes all texts around it twice as large, events and rows. */
const BETWEEN = ' » ';

/**
 * A short description of the steps of each inline pipeline that has no name, such as `snv » pls(components=5)`; null
 * for all others, which their label tells apart. Where one is too long, the steps that all of them have are left out
 * of all, so that what differs is seen.
 * @param longest characters of a description
 */
export function describePipelines(pipelines: readonly Reference[], longest = LONGEST): (string | null)[] {
  const steps = pipelines.map(({ kind, name, inline }) =>
    kind === 'inline_json' && !name ? stepsOf(inline) : null,
  );
  const texts = steps.map((list) => list?.join(BETWEEN) ?? '');
  const isShort = texts.every((text) => text.length <= longest);
  const common = isShort ? NONE : stepsOfAll(steps.filter((list) => list !== null));
  return texts.map((text, i) => {
    if (text === '') return null;
    return cut(common.size > 0 ? without(common, steps[i] as string[]) : text, longest);
  });
}

const NONE: ReadonlySet<string> = new Set();

/** The steps that are in every one of several lists. */
function stepsOfAll(lists: readonly string[][]): ReadonlySet<string> {
  const [first = [], ...others] = lists.map((list) => new Set(list));
  if (others.length === 0) return NONE;
  return new Set([...first].filter((step) => others.every((other) => other.has(step))));
}

/** The steps but for those, each run of which becomes an ellipsis; all steps where nothing else would be left. */
function without(common: ReadonlySet<string>, steps: readonly string[]): string {
  const cutShort = steps.map((step) => (common.has(step) ? '…' : step));
  if (cutShort.every((step) => step === '…')) return steps.join(BETWEEN);
  return cutShort.filter((step, i) => step !== '…' || cutShort[i - 1] !== '…').join(BETWEEN);
}

function stepsOf(inline: unknown): string[] {
  if (isObject(inline)) {
    if (typeof inline.name === 'string' && inline.name !== '') return [cut(inline.name)];
    const list = inline.pipeline ?? inline.steps;
    if (Array.isArray(list)) return stepsOf(list);
  }
  const list = Array.isArray(inline) ? inline : [inline];
  return list.slice(0, MOST.steps).map((step) => stepText(step, 0));
}

/** A step: a name, the name of a class with its parameters, or a mapping of one name to its options. */
function stepText(step: unknown, depth: number): string {
  if (!isObject(step)) return valueText(step, depth);
  const { class: named, params } = step;
  const parts = members(step, CLASS_MEMBERS).map(([key, value]) => {
    // What a model is says enough.
    const own = key === 'model' || isClass(value);
    return own
      ? (key === 'model' ? '' : `${key}: `) + stepText(value, depth + 1)
      : key + inBrackets(value, depth);
  });
  if (typeof named === 'string') parts.unshift(lastWord(named) + inBrackets(params, depth));
  else if (params !== undefined) parts.push(`params${inBrackets(params, depth)}`);
  return parts.join(' + ');
}

function inBrackets(options: unknown, depth: number): string {
  if (options === undefined || options === null || options === true) return '';
  if (!isObject(options)) return `(${valueText(options, depth)})`;
  const entries = members(options).map(([key, value]) => `${cut(key)}=${valueText(value, depth + 1)}`);
  return entries.length === 0 ? '' : `(${entries.join(', ')})`;
}

function valueText(value: unknown, depth: number): string {
  if (depth > MOST.depth) return '…';
  if (typeof value === 'string') return lastWord(value);
  if (Array.isArray(value)) {
    const shown = value.slice(0, MOST.members).map((item) => stepText(item, depth + 1));
    return `[${[...shown, ...(value.length > shown.length ? ['…'] : [])].join(', ')}]`;
  }
  if (!isObject(value)) return String(value);
  const { from, to } = value;
  if (from !== undefined && to !== undefined && Object.keys(value).length === 2) {
    return `${valueText(from, depth + 1)}..${valueText(to, depth + 1)}`;
  }
  return isClass(value) ? stepText(value, depth + 1) : `{${inBrackets(value, depth + 1).slice(1, -1)}}`;
}

/** Told in a way of their own. */
const CLASS_MEMBERS: readonly string[] = ['class', 'params'];

/** Remarks are no part of what runs. */
function members(value: Record<string, unknown>, but: readonly string[] = []): [string, unknown][] {
  const found: [string, unknown][] = [];
  for (const key of Object.keys(value)) {
    if (found.length === MOST.members) break;
    if (!but.includes(key) && !key.startsWith('_comment')) found.push([key, value[key]]);
  }
  return found;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isClass = (value: unknown): boolean => isObject(value) && typeof value.class === 'string';

/** A dotted path to something in a library, of which its own name is shown. */
const DOTTED = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$/;
const lastWord = (text: string): string =>
  cut(text.includes('.') && DOTTED.test(text) ? text.slice(text.lastIndexOf('.') + 1) : text);

/** White space that does not stand as one blank between two words. */
const ODD_SPACE = /[^\S ]| {2}|^ | $/;

/** In one line. Half a surrogate pair has no form in UTF-8. */
function cut(text: string, most = MOST.text): string {
  if (text.length <= most && !ODD_SPACE.test(text)) return text;
  const line = text
    .slice(0, 2 * most)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > most ? `${line.slice(0, most - 1).replace(/\p{Cs}$/u, '')}…` : line;
}
