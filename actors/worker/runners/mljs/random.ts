/** Largest seed: the generator has 32 bits of state. */
export const MAX_SEED = 0xffffffff;

/**
 * A seeded generator of numbers in [0, 1) (mulberry32).
 *
 * Math.random cannot be seeded, and folds must be the same wherever and however often a task runs.
 */
export function randomSource(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 4294967296;
  };
}

/** The numbers 0 to count - 1 in an order that the seed determines (Fisher-Yates). */
export function shuffledIndices(count: number, seed: number): number[] {
  const random = randomSource(seed);
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const swapped = order[i] as number;
    order[i] = order[j] as number;
    order[j] = swapped;
  }
  return order;
}
