import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { escaped } from './escape.ts';

const ENTRY = new URL('./client/main.tsx', import.meta.url);
/** What is made of it when npm packs: an installed package has this, and no sources. */
const PACKED = new URL('../../dist/page/', import.meta.url);

interface Bundle {
  script: string;
  style: string;
}

/** The bundle depends on nothing but the code, so all servers of a process share it. */
let bundle: Promise<Bundle> | undefined;

/**
 * The dashboard as one HTML document: script and style are in it, so the page asks no other host for anything.
 * The modules under `client/` are bundled in memory when the page is first asked for; in a package, when it is made.
 * @param serviceName shown as the title, as plain text
 */
export async function dashboardPage(serviceName: string): Promise<string> {
  bundle ??= bundled().catch((error: unknown) => {
    bundle = undefined;
    throw error;
  });
  const { script, style } = await bundle;
  const title = escaped(serviceName);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">
<style>${style}</style>
</head>
<body>
<div id="app"><p class="starting">${title}</p></div>
<noscript><p class="starting">This page needs JavaScript. The same is told by <code>jqctl stats</code>, <code>jqctl jobs</code> and <code>jqctl workers</code>.</p></noscript>
<script>${script}</script>
</body>
</html>
`;
}

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3.5" fill="#2563c9"/>' +
  '<path d="M4 5h8M4 8h5M4 11h7" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>';

async function bundled(): Promise<Bundle> {
  if (existsSync(ENTRY)) return (await import('./make-page.ts')).makePage();
  const [script, style] = await Promise.all(
    ['dashboard.js', 'dashboard.css'].map((name) => readFile(new URL(name, PACKED), 'utf8')),
  );
  return { script: script as string, style: style as string };
}
