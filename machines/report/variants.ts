import { canonicalJson, jsonFingerprint } from '../json/canonical.ts';
import { compact } from '../json/raw.ts';
import { describePipelines } from '../ranking/steps.ts';
import { MAX_VARIANTS } from '../schema/select-limits.ts';

/** The variants that a library found in a pipeline: of each its JSON text, what tells it apart, and its fingerprint. */
export interface FoundVariants {
  texts: string[];
  steps: (string | null)[];
  fingerprints: string[];
}

/**
 * What a worker lists (docs/runners.md#variants: JSON texts, so that their numbers stay as the library wrote
 * them), or a sentence why it cannot be taken. Equal variants stand once: they would compute the same.
 */
export function readVariants(listed: readonly string[]): FoundVariants | string {
  if (listed.length > MAX_VARIANTS) return tooManyVariants(listed.length);
  const distinct = new Map<string, { text: string; inline: unknown }>();
  for (const [place, text] of listed.entries()) {
    try {
      const inline: unknown = JSON.parse(text);
      const key = canonicalJson(text);
      if (!distinct.has(key)) distinct.set(key, { text: compact(text), inline });
    } catch {
      return `variant ${place + 1} of the pipeline is no JSON text`;
    }
  }
  if (distinct.size === 0) return 'the pipeline holds no variants';
  const found = [...distinct.values()];
  const texts = found.map(({ text }) => text);
  const pipelines = found.map(({ inline }) => ({ kind: 'inline_json', inline }));
  return { texts, steps: describePipelines(pipelines), fingerprints: texts.map(jsonFingerprint) };
}

export const tooManyVariants = (count: number): string =>
  `the pipeline makes ${count} variants; at most ${MAX_VARIANTS} are taken`;
