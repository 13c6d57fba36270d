import { ERRORS } from '../../../gateway/contract/errors.ts';
import type { Route } from '../../../gateway/contract/route.ts';
import { routeList } from '../../../gateway/contract/routes.ts';
import { Components } from '../../../gateway/openapi/schemas.ts';
import { ERROR_CODES } from '../../../machines/protocol/errors.ts';
import { LIMITS } from '../../../machines/protocol/limits.ts';
import { link } from './fields.ts';
import { table } from './table.ts';

/** Every endpoint: method, path, the right that it needs, what goes in and comes out. */
export function routesTable(): string {
  const components = new Components();
  const named = (schema: unknown) => nameOf(components.of(schema));
  const rows = routeList.map(([, route]) => [
    route.kind === 'stream' ? 'WS' : route.method.toUpperCase(),
    `\`${route.path}\``,
    route.right ?? '',
    bodyOf(route, named),
    replyOf(route, named),
    capital(route.summary.replace(/^WebSocket: /, '')),
  ]);
  return table(['Method', 'Path', 'Right', 'Body', 'Answer', 'What it does'], rows);
}

const capital = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;

type Named = (schema: unknown) => string;

/** The link to a schema that has a name, or to a list of them; the names of its fields for one that has none. */
function nameOf(schema: Record<string, unknown>): string {
  const { $ref, type, items } = schema;
  if (typeof $ref === 'string') return link($ref);
  if (type === 'array' && typeof items === 'object' && items) {
    const of = nameOf(items as Record<string, unknown>);
    return of === '' ? 'list' : `list of ${of}`;
  }
  return type === 'object' && Object.keys((schema.properties as object) ?? {}).length > 0
    ? Object.keys(schema.properties as object)
        .map((name) => `\`${name}\``)
        .join(', ')
    : '';
}

function bodyOf(route: Route, named: Named): string {
  if (route.kind === 'upload') return 'multipart, one part `file`';
  return route.kind === 'json' && route.body ? named(route.body) : '';
}

function replyOf(route: Route, named: Named): string {
  switch (route.kind) {
    case 'json':
    case 'upload':
      return named(route.reply);
    case 'download':
      return 'the bytes';
    case 'text':
      return 'text';
    case 'file':
      return 'a file';
    case 'page':
      return 'an HTML page';
    case 'stream':
      return route.of === 'events' ? link('EventView') : link('InspectionMessage');
  }
}

/** Every error code with its status, by status. */
export function errors(): string {
  const rows = ERROR_CODES.map((code) => [String(ERRORS[code].status), `\`${code}\``, ERRORS[code].when]);
  return table(['Status', 'Code', 'When'], rows);
}

/** What each limit is about, and in what it is counted. */
const ABOUT: Readonly<Record<keyof typeof LIMITS, { what: string; unit: 'characters' | 'bytes' | '' }>> = {
  type: { what: '`type` of a job or an event', unit: 'characters' },
  name: { what: 'a name of a job, worker, pipeline or dataset', unit: 'characters' },
  key: {
    what: 'the key of a label, package constraint or capability; a name of a metric',
    unit: 'characters',
  },
  value: { what: 'the value of a label or package constraint; a fingerprint', unit: 'characters' },
  path: { what: 'a path', unit: 'characters' },
  note: { what: 'the note of a job', unit: 'characters' },
  tag: { what: 'a tag of a job', unit: 'characters' },
  tags: { what: 'tags of a job', unit: '' },
  members: { what: 'labels (of workers, too), constraints, capabilities of a job: each', unit: '' },
  warnings: { what: 'unknown fields that are warned about by name; the rest is counted', unit: '' },
  declared: { what: 'capabilities, version and labels of a worker together', unit: 'bytes' },
  error: { what: '`error` of a failure', unit: 'bytes' },
  traceback: { what: '`traceback` of a failure', unit: 'bytes' },
  message: { what: '`message` of an event', unit: 'bytes' },
  data: { what: '`data` of an event', unit: 'bytes' },
  numbers: { what: '`metrics` of a result, and as many `counts`', unit: '' },
  rankMetrics: { what: 'metrics that a job may rank by', unit: '' },
  extra: { what: '`extra` of a result, and as much of fields that nobody here knows', unit: 'bytes' },
};

/** Limits of texts, lists and maps. */
export function limits(): string {
  const rows = Object.entries(LIMITS).map(([name, most]) => {
    const { what, unit } = ABOUT[name as keyof typeof LIMITS];
    return [what, sized(most, unit)];
  });
  return table(['What', 'At most'], rows);
}

const sized = (most: number, unit: string): string => {
  const count = unit === 'bytes' && most % 1024 === 0 ? `${most / 1024} Ki` : most.toLocaleString('en');
  return unit === 'bytes' ? `${count.replace(/ Ki$/, ' KiB')}` : `${count} ${unit}`.trim();
};
