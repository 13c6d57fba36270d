import findMyWay from 'find-my-way';
import type { Route, Verb } from '../contract/route.ts';

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

interface Place<T> {
  verbs: Partial<Record<Verb, T>>;
  siblings: readonly T[];
  allow: string;
}

/** Finds the endpoint of a request in a table of routes. */
export class Router<T extends { route: Route }> {
  readonly #places = findMyWay({ maxParamLength: MAX_PARAM_LENGTH });
  readonly #basePath: string;

  /** @param basePath as `basePathOf` gives it; paths count with it and without it, as proxies keep or strip it */
  constructor(endpoints: readonly T[], basePath = '') {
    this.#basePath = basePath;
    const byPath = new Map<string, Partial<Record<Verb, T>>>();
    for (const endpoint of endpoints) {
      const { path, verb } = endpoint.route;
      byPath.set(path, { ...byPath.get(path), [verb]: endpoint });
    }
    for (const [path, verbs] of byPath) {
      const place: Place<T> = { verbs, siblings: Object.values(verbs), allow: allowOf(verbs) };
      // All paths live under one method, so that a known path with another method is told from an unknown one.
      this.#places.on('GET', path.replace(/\{(\w+)\}/g, ':$1'), () => {}, place);
    }
  }

  /** Null for an unknown path, which one whose percent-encoding cannot be read is as well. */
  find(method: string, path: string): Match<T> | null {
    const found = this.#places.find('GET', this.#own(path));
    if (!found || Object.values(found.params).includes('')) return null;
    const { verbs, siblings, allow } = found.store as Place<T>;
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
    return {
      endpoint: verb === 'get' || verb === 'post' ? verbs[verb] : undefined,
      siblings,
      allow,
      params: found.params as Record<string, string>,
    };
  }

  /** Without the base path, and without a trailing slash, which says nothing (docs/protocol.md#bodies). */
  #own(path: string): string {
    const base = this.#basePath;
    const below =
      base !== '' && (path === base || path.startsWith(`${base}/`)) ? path.slice(base.length) : path;
    return (below.endsWith('/') ? below.slice(0, -1) : below) || '/';
  }
}

function allowOf(verbs: Partial<Record<Verb, unknown>>): string {
  const methods = ['OPTIONS'];
  if (verbs.post) methods.unshift('POST');
  if (verbs.get) methods.unshift('GET', 'HEAD');
  return methods.join(', ');
}
