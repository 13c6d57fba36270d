import { fileURLToPath } from 'node:url';
import { build, stop } from 'esbuild';
import { API_VERSION, PACKAGE_VERSION } from '../version.ts';

const ENTRY = fileURLToPath(new URL('./client/main.tsx', import.meta.url));

interface Bundle {
  script: string;
  style: string;
}

/** The bundle depends on nothing but the code, so all servers of a process share it. */
let bundle: Promise<Bundle> | undefined;

/**
 * The dashboard as one HTML document: script and style are in it, so the page asks no other host for anything.
 * The modules under `client/` are bundled in memory when the page is first asked for.
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
  try {
    const { outputFiles } = await build({
      entryPoints: [ENTRY],
      bundle: true,
      write: false,
      outdir: 'dashboard',
      format: 'iife',
      target: ['chrome123', 'firefox121', 'safari17.5'],
      minify: true,
      charset: 'utf8',
      // Licences of what is bundled travel with it.
      legalComments: 'eof',
      logLevel: 'silent',
      define: {
        PACKAGE_VERSION: JSON.stringify(PACKAGE_VERSION),
        API_VERSION: JSON.stringify(API_VERSION),
      },
    });
    const ending = (suffix: string) => outputFiles.find(({ path }) => path.endsWith(suffix))?.text ?? '';
    return { script: ending('.js'), style: ending('.css') };
  } finally {
    // The bundler's own process would wait for more work for as long as the server runs.
    await stop();
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] as string);
