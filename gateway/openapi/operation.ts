import type { Route } from '../contract/route.ts';
import { responsesOf, VERSION_HEADERS } from './responses.ts';
import type { Components, Json } from './schemas.ts';

/** One row of the route table as an OpenAPI operation. */
export function operationOf(name: string, route: Route, components: Components): Json {
  const body = requestBody(route, components);
  return {
    operationId: name,
    summary: route.summary,
    tags: [route.tag],
    ...(route.right === null ? {} : { description: `Needs the right \`${route.right}\`.` }),
    security: security(route),
    parameters: [...pathParameters(route), ...queryParameters(route, components), ...versionParameters()],
    ...(body ? { requestBody: body } : {}),
    responses: responsesOf(route, components),
  };
}

/** The role names stand where OpenAPI lets a scheme other than OAuth list them. */
function security(route: Route): Json[] {
  if (route.right === null) return [];
  const schemes: Json[] = [{ bearer: [route.right] }];
  if (route.kind === 'stream') schemes.push({ token: [route.right] });
  return schemes;
}

function pathParameters({ path }: Route): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1 },
  }));
}

function queryParameters({ query, kind }: Route, components: Components): Json[] {
  const required = (query as { required?: string[] } | undefined)?.required ?? [];
  return Object.entries(query?.properties ?? {})
    .filter(([name]) => kind !== 'stream' || name !== 'token')
    .map(([name, schema]) => {
      const { description, ...rest } = components.of(schema);
      return {
        name,
        in: 'query',
        required: required.includes(name),
        ...(description ? { description } : {}),
        schema: rest,
      };
    });
}

function versionParameters(): Json[] {
  return VERSION_HEADERS.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

function requestBody(route: Route, components: Components): Json | undefined {
  if (route.kind === 'upload') {
    const file = { type: 'string', contentMediaType: 'application/octet-stream' };
    const schema = { type: 'object', required: ['file'], properties: { file } };
    return { required: true, content: { 'multipart/form-data': { schema } } };
  }
  if (route.kind !== 'json' || !route.body) return undefined;
  const schema = components.of(route.body);
  const types = route.yaml ? ['application/json', 'application/yaml'] : ['application/json'];
  const { required } = route.body as { required?: string[] };
  return {
    // An absent body is `{}`, which does where nothing in it is required.
    required: (required?.length ?? 0) > 0,
    content: Object.fromEntries(types.map((type) => [type, { schema }])),
  };
}
