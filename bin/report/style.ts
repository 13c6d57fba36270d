/** What a report looks like: on a light and a dark ground, on a phone, and on paper. */
export const STYLE = `
:root { color-scheme: light dark; --text: light-dark(#16202e, #e3e9f2); --ground: light-dark(#fff, #12161d);
  --muted: light-dark(#586374, #98a4b5); --line: light-dark(#d9dfe8, #2d3542);
  --first: light-dark(#2563c9, #6ea3ff); --second: light-dark(#b4470f, #ff9a5c); --third: light-dark(#157347, #5fc98f); }
* { box-sizing: border-box; }
body { margin: 0; font: 14px/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground); }
main { max-width: 1000px; margin: 0 auto; padding: 20px 16px 60px; }
h1 { font-size: 24px; overflow-wrap: anywhere; } h2 { margin: 28px 0 8px; font-size: 17px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 0; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; white-space: pre-line; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 12px 3px 0; border-bottom: 1px solid var(--line); text-align: left; font-weight: normal; vertical-align: top; }
thead th { color: var(--muted); } .n { text-align: right; white-space: nowrap; }
.wide { overflow-x: auto; } a { color: var(--first); }
pre { padding: 10px; border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 12.5px; }
.warnings { padding: 8px 8px 8px 28px; border: 1px solid var(--second); border-radius: 6px; }
.plots { display: flex; flex-wrap: wrap; gap: 12px; } figure { flex: 1 1 320px; max-width: 480px; margin: 0 0 8px; }
svg { display: block; width: 100%; height: auto; } .grid { stroke: var(--line); } .tick, .axis { fill: var(--muted); font-size: 11px; }
.line { stroke: var(--muted); stroke-dasharray: 4 3; } .curve { fill: none; stroke-width: 1.5; }
.dots { fill: none; stroke-width: 6; stroke-linecap: round; } .marked { fill: none; stroke: var(--text); stroke-width: 1.8; }
.key { margin-right: 12px; font-size: 12px; } .key i { display: inline-block; width: 8px; height: 8px; margin-right: 4px; border-radius: 50%; }
footer { margin-top: 32px; color: var(--muted); font-size: 12.5px; }
@media print { pre, figure, tr { break-inside: avoid; } }
`;
