import { createHash } from 'node:crypto';
import type { Header } from './refusal.ts';

/** A page for people, with the headers that confine it. */
export interface Page {
  html: string;
  headers: readonly Header[];
}

/**
 * Allows a page exactly its own inline scripts and styles, by their hashes, and connections to its own server.
 * Whatever a job's name or an event smuggles into the page cannot run.
 */
export function confined(html: string): Page {
  const policy = [
    "default-src 'none'",
    `script-src ${hashes(html, 'script') || "'none'"}`,
    `style-src ${hashes(html, 'style') || "'none'"}`,
    "img-src 'self' data:",
    // Not every browser counts a WebSocket to the page's own host as 'self'.
    "connect-src 'self' ws: wss:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return {
    html,
    headers: [
      ['Content-Type', 'text/html; charset=utf-8'],
      ['Content-Security-Policy', policy],
      ['X-Content-Type-Options', 'nosniff'],
      ['Referrer-Policy', 'no-referrer'],
      ['Cache-Control', 'no-cache'],
    ],
  };
}

/** Makes the page when it is first asked for and keeps it; a failure is not kept. */
export function pageOnDemand(html: () => string | Promise<string>): () => Promise<Page> {
  let page: Promise<Page> | undefined;
  const make = async () => confined(await html());
  return () => {
    page ??= make().catch((fault: unknown) => {
      page = undefined;
      throw fault;
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
