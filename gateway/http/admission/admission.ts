import { ClusterError } from '../../../machines/protocol/errors.ts';
import { assertRights, type Principal } from '../../../machines/protocol/rights.ts';
import { bearerToken, queryToken } from '../../auth/bearer.ts';
import type { Credentials } from '../../auth/credentials.ts';
import { declaredLength, isChunked, type RequestHead } from '../../transport/head.ts';
import { artifactTooLarge, bodyTooLarge, Refusal } from '../reply/refusal.ts';
import type { Endpoint } from './endpoint.ts';
import type { Handshake } from './handshake.ts';
import type { OriginPolicy } from './origin.ts';
import type { Match, Router } from './router.ts';

/** A request that may proceed to its body. */
export interface Admitted {
  endpoint: Endpoint;
  params: Record<string, string>;
  principal: Principal;
}

/** An OPTIONS request, for which knowing the path is all. */
export interface Preflight {
  allow: string;
}

/** A request that is refused whatever its body says. */
export interface Refused {
  error: ClusterError;
  /** Bytes above which the body is refused as too large instead; null when its length is known to do. */
  countUpTo: number | null;
  /** What it is for, where there is such a route. */
  endpoint: Endpoint | undefined;
}

export type Admission = Admitted | Preflight | Refused;

/** Who makes a request that needs no credential. */
const NOBODY: Principal = { name: 'anonymous', rights: [] };

/**
 * The checks that need no body: that the head is clear, then in their order (docs/protocol.md#errors) 413, 426, 404 and
 * 405 of the route, 403 of host and origin, 401, 403 of the right.
 */
export class AdmissionControl {
  readonly #router: Router<Endpoint>;
  readonly #handshake: Handshake;
  readonly #origins: OriginPolicy;
  readonly #auth: Credentials;
  readonly #limits: { maxRequestBytes: number; maxArtifactBytes: number };
  readonly #basePath: string;

  constructor(parts: {
    router: Router<Endpoint>;
    handshake: Handshake;
    origins: OriginPolicy;
    auth: Credentials;
    limits: { maxRequestBytes: number; maxArtifactBytes: number };
    basePath?: string;
  }) {
    this.#router = parts.router;
    this.#handshake = parts.handshake;
    this.#origins = parts.origins;
    this.#auth = parts.auth;
    this.#limits = parts.limits;
    this.#basePath = parts.basePath ?? '';
  }

  admit(head: RequestHead): Admission {
    if (head.ambiguity !== undefined) {
      const error = new ClusterError('malformed_request', `the request has ${head.ambiguity}`);
      return { error, countUpTo: null, endpoint: undefined };
    }
    const match = this.#router.find(head.method, head.path);
    const upload = match?.siblings.find(({ route }) => route.kind === 'upload');
    try {
      this.#checkLength(head, upload);
      this.#handshake.check(head);
      return this.#admitRoute(head, match);
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      // The bytes of an artifact are not taken only to be counted.
      const uncounted = isChunked(head) && !upload;
      return {
        error,
        countUpTo: uncounted ? this.#limits.maxRequestBytes : null,
        endpoint: match?.endpoint,
      };
    }
  }

  #checkLength(head: RequestHead, upload: Endpoint | undefined): void {
    if (declaredLength(head) <= (upload?.maxBytes ?? this.#limits.maxRequestBytes)) return;
    if (upload) throw artifactTooLarge(this.#limits.maxArtifactBytes);
    throw bodyTooLarge(this.#limits.maxRequestBytes);
  }

  #admitRoute(head: RequestHead, match: Match<Endpoint> | null): Admission {
    if (!match) {
      const detail = `there is no ${head.path} here; see ${this.#basePath}/openapi.json`;
      throw new ClusterError('unknown_path', detail);
    }
    const { endpoint, allow } = match;
    if (!endpoint && head.method !== 'OPTIONS') {
      const detail = `${head.path} does not take ${head.method}, only ${allow}`;
      throw new Refusal('method_not_allowed', detail, [['Allow', allow]]);
    }
    this.#origins.check(head);
    if (!endpoint) return { allow };
    const principal = this.#identify(head, endpoint);
    if (endpoint.versioned) this.#handshake.note(head);
    return { endpoint, params: match.params, principal };
  }

  #identify(head: RequestHead, { route }: Endpoint): Principal {
    if (route.right === null) return NOBODY;
    const inQuery = route.kind === 'stream' ? queryToken(head.query) : undefined;
    const sent = bearerToken(head.headers.authorization) ?? inQuery;
    const principal = this.#auth.identify(sent);
    if (!principal) {
      throw new ClusterError(
        'unauthenticated',
        sent === undefined
          ? "this server needs a credential: send the header 'Authorization: Bearer TOKEN'"
          : this.#auth.hasExpired(sent)
            ? 'the credential has expired; ask whoever runs this server for a new one'
            : 'the credential is unknown to this server; check the token',
      );
    }
    assertRights(principal, [route.right]);
    return principal;
  }
}
