import findMyWay from 'find-my-way';
import { METHODS, type Method, type Route } from '../../contract/route.ts';

/** Longest id that a path may hold; schemas bound ids far below. */
const MAX_PARAM_LENGTH = 1000;

export interface Match<T> {
  /** The endpoint for this method, or undefined where the path serves other methods only. */
  endpoint: T | undefined;
  /** Every endpoint of the path. */
  siblings: readonly T[];
  /** The value of `Allow`. */
  allow: string;
  params: Record<string, string>;
}

interface RoutePath<T> {
  methods: Partial<Record<Method, T>>;
  siblings: readonly T[];
  allow: string;
}

/** Finds the endpoint of a request in a table of routes. */
export class Router<T extends { route: Route }> {
  readonly #paths = findMyWay({ maxParamLength: MAX_PARAM_LENGTH });
  readonly #basePath: string;

  /** @param basePath as `basePathOf` gives it; paths count with it and without it, as proxies keep or strip it */
  constructor(endpoints: readonly T[], basePath = '') {
    this.#basePath = basePath;
    const byPath = new Map<string, Partial<Record<Method, T>>>();
    for (const endpoint of endpoints) {
      const { path, method: member } = endpoint.route;
      byPath.set(path, { ...byPath.get(path), [member]: endpoint });
    }
    for (const [path, methods] of byPath) {
      const place: RoutePath<T> = { methods, siblings: Object.values(methods), allow: allowOf(methods) };
      // All paths live under one method, so that a known path with another method is told from an unknown one.
      this.#paths.on('GET', path.replace(/\{(\w+)\}/g, ':$1'), () => {}, place);
    }
  }

  /** Null for an unknown path, which one whose percent-encoding cannot be read is as well. */
  find(method: string, path: string): Match<T> | null {
    const found = this.#paths.find('GET', this.#withoutBasePath(path));
    if (!found) return null;
    for (const name in found.params) if (found.params[name] === '') return null;
    const { methods, siblings, allow } = found.store as RoutePath<T>;
    const asked = method === 'HEAD' ? 'get' : method.toLowerCase();
    const member = METHODS.find((known) => known === asked);
    return {
      endpoint: member && methods[member],
      siblings,
      allow,
      params: found.params as Record<string, string>,
    };
  }

  /** Without the base path, and without a trailing slash, which says nothing (docs/protocol.md#bodies). */
  #withoutBasePath(path: string): string {
    const base = this.#basePath;
    const below =
      base !== '' && (path === base || path.startsWith(`${base}/`)) ? path.slice(base.length) : path;
    return (below.endsWith('/') ? below.slice(0, -1) : below) || '/';
  }
}

function allowOf(methods: Partial<Record<Method, unknown>>): string {
  const names = METHODS.filter((method) => methods[method]).map((method) => method.toUpperCase());
  return [...names.flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])), 'OPTIONS'].join(', ');
}
