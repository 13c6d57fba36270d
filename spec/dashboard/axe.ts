import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** What axe calls serious or critical, in words that say where; `part` is a selector. */
export async function seriousFaults(page: Page, part = 'document'): Promise<string[]> {
  await page.evaluate(`if (!window.axe) { ${axe.source} }`);
  const { violations } = (await page.evaluate(
    `axe.run(${part === 'document' ? 'document' : JSON.stringify(part)}, { resultTypes: ['violations'] })`,
  )) as axe.AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary ?? ''}`));
}
