import { createHash } from 'node:crypto';
import type { Header } from '../http/reply/refusal.ts';

/** A page for people, with the headers that confine it. */
export interface Page {
  html: string;
  /** @param host the `Host` header of the request, under which the page knows its server */
  headers(host: string | undefined): readonly Header[];
}

/**
 * Allows a page exactly its own inline scripts and styles, by their hashes, and connections to its own server.
 * Whatever a job's name or an event smuggles into the page cannot run.
 */
export function confined(html: string): Page {
  const own = [
    "default-src 'none'",
    `script-src ${hashes(html, 'script') || "'none'"}`,
    `style-src ${hashes(html, 'style') || "'none'"}`,
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return {
    html,
    headers: (host) => [
      ['Content-Type', 'text/html; charset=utf-8'],
      ['Content-Security-Policy', `${own}; connect-src ${ownHost(host)}`],
      ['X-Content-Type-Options', 'nosniff'],
      ['Referrer-Policy', 'no-referrer'],
      ['Cache-Control', 'no-cache'],
    ],
  };
}

/**
 * The page's own server, for requests and WebSockets. Not every browser counts a WebSocket to the page's own host
 * as `'self'`, so the host is named as well, where it is a name and perhaps a port: nothing else that a `Host`
 * header may hold can be a source of a policy (CSP 3, 2.3.1), an address in brackets included.
 */
function ownHost(host: string | undefined): string {
  if (host === undefined || !/^[a-z0-9.-]+(:\d{1,5})?$/i.test(host)) return "'self'";
  return `'self' ws://${host} wss://${host}`;
}

/** Makes the page when it is first asked for and keeps it; a failure is not kept. */
export function pageOnDemand(html: () => string | Promise<string>): () => Promise<Page> {
  let page: Promise<Page> | undefined;
  const make = async () => confined(await html());
  return () => {
    page ??= make().catch((error: unknown) => {
      page = undefined;
      throw error;
    });
    return page;
  };
}

function hashes(html: string, element: 'script' | 'style'): string {
  const blocks = html.matchAll(new RegExp(`<${element}\\b[^>]*>([\\s\\S]*?)</${element}\\s*>`, 'gi'));
  const sources = [...blocks].map(([, text]) => {
    // Browsers hash what their parser yields, and that knows no carriage returns.
    const parsed = (text as string).replace(/\r\n?/g, '\n');
    return `'sha256-${createHash('sha256').update(parsed, 'utf8').digest('base64')}'`;
  });
  return [...new Set(sources)].join(' ');
}
