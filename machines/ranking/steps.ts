/** What tells pipelines apart that are written in the job itself and have no name of their own. */

/** A pipeline as a specification has it. */
interface Reference {
  kind?: unknown;
  name?: unknown;
  inline?: unknown;
}

/** What a task's pipeline is called: what tells it apart where its label does not, else the label. */
export const pipelineName = (task: { pipeline_label: string; pipeline_steps?: string | null }): string =>
  task.pipeline_steps ?? task.pipeline_label;

/** Characters that a description may have, and what is looked at of a pipeline that may be very large. */
const LONGEST = 80;
const MOST = { steps: 30, members: 8, depth: 4, text: 40 };
const BETWEEN = ' → ';

/**
 * A short description of the steps of each inline pipeline that has no name, such as `snv → pls(components=5)`; null
 * for all others, which their label tells apart. Where one is too long, the steps that all of them have are left out
 * of all, so that what differs is seen.
 */
export function describePipelines(pipelines: readonly Reference[]): (string | null)[] {
  const steps = pipelines.map(({ kind, name, inline }) =>
    kind === 'inline_json' && !name ? stepsOf(inline) : null,
  );
  const described = steps.filter((list) => list !== null);
  const isCommon = (step: string) => described.length > 1 && described.every((list) => list.includes(step));
  const tooLong = described.some((list) => list.join(BETWEEN).length > LONGEST);
  return steps.map((list) => {
    if (list === null || list.length === 0) return null;
    const differing = list.map((step) => (isCommon(step) ? '…' : step));
    const told = tooLong && differing.some((step) => step !== '…') ? differing : list;
    const text = told.filter((step, i) => step !== '…' || told[i - 1] !== '…').join(BETWEEN);
    return cut(text, LONGEST);
  });
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
  const { class: named, params, ...rest } = step;
  const parts = members(rest).map(([key, value]) => {
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
  const { from, to, ...rest } = value;
  if (from !== undefined && to !== undefined && Object.keys(rest).length === 0) {
    return `${valueText(from, depth + 1)}..${valueText(to, depth + 1)}`;
  }
  return isClass(value) ? stepText(value, depth + 1) : `{${inBrackets(value, depth + 1).slice(1, -1)}}`;
}

/** Remarks are no part of what runs. */
const members = (value: Record<string, unknown>) =>
  Object.entries(value)
    .filter(([key]) => !key.startsWith('_comment'))
    .slice(0, MOST.members);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isClass = (value: unknown): boolean => isObject(value) && typeof value.class === 'string';

/** Of a dotted path to something in a library, its own name. */
const lastWord = (text: string): string =>
  cut(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$/.test(text) ? text.slice(text.lastIndexOf('.') + 1) : text);

/** In one line. Half a surrogate pair has no form in UTF-8. */
function cut(text: string, most = MOST.text): string {
  const line = text
    .slice(0, 2 * most)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > most ? `${line.slice(0, most - 1).replace(/\p{Cs}$/u, '')}…` : line;
}
