import type { Step } from '../work.ts';

/** Pages that are given back at a time: 1 MiB. */
const AT_ONCE = 256;
/** Part of the pages that stay free, since new rows take them soon. */
const SPARE = 0.05;

/** Gives room that the store does not need back to the disk, bit by bit from the end of its file. */
export const shrink: Step = async function* ({ store, alone }) {
  for (;;) {
    const { pages, free, shrinks } = await store.size();
    const excess = Math.min(AT_ONCE, Math.floor(free - SPARE * pages));
    if (!shrinks || excess < 1) return;
    await alone(() => store.shrink(excess));
    yield;
  }
};
