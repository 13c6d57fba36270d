import type { ChartState } from '../../../../../machines/charts/graph.ts';

/** In pixels; the letters are those of a font of fixed width. */
export const SIZES = { letter: 6.7, line: 15, title: 22, badge: 34, toggle: 18, margin: 16 } as const;

export interface Size {
  width: number;
  height: number;
}

export const textWidth = (text: string): number => text.length * SIZES.letter;

/** What a state needs for its title, and for what is written below it. */
export function sizeOf({ key, type }: ChartState, lines: readonly string[], collapsible: boolean): Size {
  const title = textWidth(key) * 1.12 + SIZES.badge + (collapsible ? SIZES.toggle : 0);
  const width = Math.max(64, title, ...lines.map(textWidth)) + SIZES.margin;
  const height = SIZES.title + lines.length * SIZES.line + (type === 'final' ? 12 : 8);
  return { width: Math.ceil(width), height };
}

/** What the words at an arrow need. */
export const labelSize = (words: readonly string[]): Size => ({
  width: Math.ceil(Math.max(...words.map(textWidth)) + 8),
  height: words.length * SIZES.line + 2,
});
