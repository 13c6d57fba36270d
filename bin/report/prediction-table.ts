import type { PredictionRow } from '../../machines/results/predictions.ts';
import { metric } from '../terminal/format.ts';
import { href } from './href.ts';
import { type Html, html } from './html.ts';

/** Rows that a reader wants in a page; the file has all. */
const SHOWN = 100;

/** What was predicted of each sample, with the measured values that there are. @param path of the file that has all */
export function predictionTable(rows: readonly PredictionRow[], path: string | undefined): Html {
  const [hasTargets, hasValues] = [rows.some(({ target }) => target !== ''), rows.some(({ y }) => y !== '')];
  const more = rows.length - SHOWN;
  return html`<div class="wide"><table>
<thead><tr><th>sample</th>${hasTargets && html`<th>target</th>`}<th class="n">predicted</th>${hasValues && html`<th class="n">measured</th>`}</tr></thead>
<tbody>${rows.slice(0, SHOWN).map(
    ({ sample, target, prediction, y }) =>
      html`<tr><th><bdi>${sample}</bdi></th>${hasTargets && html`<td><bdi>${target}</bdi></td>`}<td class="n" title="${prediction}">${shown(prediction)}</td>
${hasValues && html`<td class="n">${y}</td>`}</tr>`,
  )}</tbody></table></div>
${path !== undefined && html`<p>${more > 0 && `and ${more} more; `}<a href="${href(path)}">all of them, with every digit</a></p>`}`;
}

/** Classes as they are, numbers as people read them. */
const shown = (text: string): string =>
  text.trim() !== '' && Number.isFinite(Number(text)) ? metric(Number(text)) : text;
