import { ERROR_CODES } from '../../machines/protocol/errors.ts';
import { ERRORS } from '../contract/errors.ts';
import type { Route, ServiceFacts } from '../contract/route.ts';
import { API_VERSION } from '../version.ts';
import { operationOf } from './operation.ts';
import { VERSION_HEADERS } from './responses.ts';
import { Components, type Json } from './schemas.ts';

const TAGS: Readonly<Record<Route['tag'], string>> = {
  health:
    'What the service is, whether it is up, its dashboard, and its client for Python. No credential is needed.',
  jobs: 'Submit jobs and follow them.',
  cluster: 'The cluster as a whole: statistics, workers, all events.',
  artifacts: 'Files: inputs of jobs, and what tasks made.',
  workers: 'For worker programs: register, stay alive, lease tasks.',
  tasks: 'For worker programs: report on the tasks they hold.',
};

const VERSIONS: Readonly<Record<(typeof VERSION_HEADERS)[number], string>> = {
  'X-CLUSTER-Version': 'package version of the sender',
  'X-CLUSTER-Api': 'protocol version of the sender; only its integer major is compared',
  'X-CLUSTER-Role': 'client, worker or server; advisory, never used for authorisation',
};

/** The OpenAPI 3.1 description of a table of routes, as plain data. */
export function openApi(table: readonly (readonly [string, Route])[], facts: ServiceFacts): Json {
  const components = new Components();
  const paths: Record<string, Json> = {};
  for (const [name, route] of table) {
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(name, route, components) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: facts.service,
      version: facts.version,
      summary: `A durable job queue for data-analysis runs; protocol ${API_VERSION}`,
      description: description(),
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: facts.basePath || '/' }],
    tags: Object.entries(TAGS).map(([name, text]) => ({ name, description: text })),
    paths,
    components: {
      schemas: { ...components.schemas, Error: errorSchema() },
      headers: byVersionHeader((name) => ({ description: VERSIONS[name], schema: { type: 'string' } })),
      parameters: byVersionHeader((name) => ({
        name,
        in: 'header',
        required: false,
        description: VERSIONS[name],
        schema: { type: 'string' },
      })),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'Not needed where no credential is configured.',
        },
        token: { type: 'apiKey', in: 'query', name: 'token', description: 'The same, for WebSockets only.' },
      },
    },
  };
}

function byVersionHeader(make: (name: (typeof VERSION_HEADERS)[number]) => Json): Json {
  return Object.fromEntries(VERSION_HEADERS.map((name) => [name, make(name)]));
}

function errorSchema(): Json {
  const text = { type: 'string' };
  return {
    type: 'object',
    required: ['detail', 'code'],
    properties: {
      detail: { ...text, description: 'a sentence that a person can act on' },
      code: { enum: [...ERROR_CODES], description: 'for programs' },
      errors: {
        type: 'array',
        description: 'for a body or query that is not valid: all of its faults',
        items: {
          type: 'object',
          required: ['path', 'message'],
          properties: {
            path: { ...text, description: 'JSON pointer' },
            message: text,
            line: { type: 'integer', description: 'of a body of YAML, from 1, where that is known' },
          },
        },
      },
    },
  };
}

function description(): string {
  const rows = ERROR_CODES.map((code) => `| ${ERRORS[code].status} | \`${code}\` | ${ERRORS[code].when} |`);
  return [
    'Every path takes HEAD where it takes GET, and OPTIONS. An unknown path is answered with 404, another method ' +
      'with 405 and `Allow`. Checks run in this order: 400 of the head, 413, 426, 404 and 405 of the route, 403 of host and origin, ' +
      '401, 403 of the right, 400 and 422 of the body, 404 of the id, 403 of the owner, 409.',
    ['| status | code | when |', '|---|---|---|', ...rows].join('\n'),
  ].join('\n\n');
}
