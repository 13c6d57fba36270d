import type { Route } from '../contract/route.ts';
import { operationOf } from '../openapi/operation.ts';
import { Components, type Json } from '../openapi/schemas.ts';
import { Types } from './types.ts';

/** Kinds of routes that the client for Python has no method for: it follows jobs by asking, and shows no pages. */
const WITHOUT: readonly Route['kind'][] = ['stream', 'page', 'file'];

interface Parameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  schema: Json;
}

/** The name of a route's method: `getJob` is called `get_job`. */
export const methodName = (route: string): string =>
  route.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The module `_routes.py`: a class with a method for each route, and the types of all bodies and answers. */
export function routesModule(table: readonly (readonly [string, Route])[]): string {
  const components = new Components();
  const types = new Types();
  const rows = table.filter(([, { kind }]) => !WITHOUT.includes(kind));
  const methods = rows.map(([name, route]) => methodOf(name, route, { components, types }));
  const named = Object.entries(components.schemas).map(([name, schema]) => types.define(name, schema));
  return `${[HEAD, ...types.definitions, ...named, CLASS, ...methods].join('\n')}`;
}

const HEAD = `"""A method for each route of the server, and the types of bodies and answers.

Made with the wheel, from the server's table of routes.
"""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union, cast

from ._http import Download, JsonText, PathName, Transport
`;

const CLASS = `
class Api:
    """The routes of a server by their names. Refusals are raised as \`ResponseError\`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
`;

interface Makers {
  components: Components;
  types: Types;
}

function methodOf(name: string, route: Route, makers: Makers): string {
  const parameters = parametersOf(name, route, makers);
  const at = name[0]?.toUpperCase() + name.slice(1);
  const path = parameters.filter((one) => one.in === 'path').map((one) => `${one.name}: str`);
  const query = parameters
    .filter((one) => one.in === 'query')
    .map(({ name: key, required, schema }) => {
      const type = makers.types.of(schema, `${at}_${key}`);
      return required ? `${key}: ${type}` : `${key}: Optional[${type}] = None`;
    });
  const { given, answer, call } = shapeOf(route, { at, makers, target: targetOf(route, parameters) });
  const signature = ['self', ...path, ...given, ...(query.length > 0 ? ['*', ...query] : [])].join(', ');
  const right = route.right === null ? '' : ` Needs the right \`${route.right}\`.`;
  return [
    '',
    `    def ${methodName(name)}(${signature}) -> ${answer}:`,
    `        """${route.summary}.${right}"""`,
    `        return ${call}`,
  ].join('\n');
}

/** Those that a method has: what asks for an answer in another form than JSON is none of them. */
function parametersOf(name: string, route: Route, { components }: Makers): Parameter[] {
  const otherForms = route.kind === 'json' && route.text !== undefined;
  return (operationOf(name, route, components).parameters as Partial<Parameter>[])
    .filter((one): one is Parameter => one.in === 'path' || one.in === 'query')
    .filter((one) => !(otherForms && one.name === 'format'));
}

/** What every request of a route is made of, as arguments. */
function targetOf({ method, path }: Route, parameters: readonly Parameter[]): string {
  const mapping = (place: Parameter['in']) =>
    `{${parameters
      .filter((one) => one.in === place)
      .map(({ name }) => `"${name}": ${name}`)
      .join(', ')}}`;
  return [`"${method.toUpperCase()}"`, `"${path}"`, mapping('path'), mapping('query')].join(', ');
}

/** What a method takes beside the parameters of its route, what it gives, and how. */
function shapeOf(
  route: Route,
  { at, makers, target }: { at: string; makers: Makers; target: string },
): { given: string[]; answer: string; call: string } {
  const typeOf = (schema: unknown, name: string) => makers.types.of(makers.components.of(schema), at + name);
  switch (route.kind) {
    case 'upload': {
      const answer = typeOf(route.reply, 'Reply');
      const given = ['file: PathName', 'filename: Optional[str] = None'];
      return { given, answer, call: `cast(${answer}, self._transport.upload(${target}, file, filename))` };
    }
    case 'download': {
      const given = ['range: Optional[str] = None'];
      return { given, answer: 'Download', call: `self._transport.download(${target}, range)` };
    }
    case 'text':
      return { given: [], answer: 'str', call: `self._transport.text(${target})` };
    case 'json': {
      const answer = typeOf(route.reply, 'Reply');
      const members = Object.keys((route.body as { properties?: object } | undefined)?.properties ?? {});
      const isNone =
        !route.body || ('type' in route.body && route.body.type === 'object' && members.length === 0);
      if (isNone) return { given: [], answer, call: `cast(${answer}, self._transport.json(${target}))` };
      const given = [`body: Union[${typeOf(route.body, 'Body')}, JsonText, None] = None`];
      return { given, answer, call: `cast(${answer}, self._transport.json(${target}, body))` };
    }
    default:
      throw new Error(`no method is made for a route of kind ${route.kind}`);
  }
}
