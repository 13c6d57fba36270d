import { Type } from 'typebox';
import { RawJson } from '../../../machines/json/raw.ts';
import { openApi } from '../../openapi/openapi.ts';
import { type JsonRoute, json, type Route, type ServiceFacts } from '../route.ts';

const texts = new WeakMap<ServiceFacts, RawJson>();

/** The route that describes a table, itself among it. The table comes as a function, since it is not whole yet. */
export const description = (
  table: () => readonly (readonly [string, Route])[],
): { getOpenApi: JsonRoute } => ({
  getOpenApi: json({
    method: 'get',
    path: '/openapi.json',
    summary: 'This description: every endpoint, status and schema (OpenAPI 3.1)',
    right: null,
    tag: 'health',
    reply: Type.Object({ openapi: Type.String() }),
    run: ({ facts }) => {
      const text = texts.get(facts) ?? new RawJson(JSON.stringify(openApi(table(), facts)));
      texts.set(facts, text);
      return text;
    },
  }),
});
