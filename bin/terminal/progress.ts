import { MultiBar, Presets, type SingleBar } from 'cli-progress';
import { wholeDuration } from './format.ts';
import type { Output } from './output.ts';

/** The terminal cuts the bar at its edge (DECAWM off), but breaks the lines above it. */
const WRAP = '\u001b[?7h';
const CUT = '\u001b[?7l';

/**
 * A progress bar on stderr with lines that scroll above it. Without a terminal there is no bar, only the
 * lines; under `--json` the lines too are left to the reader of stdout.
 */
export class Progress {
  readonly #output: Output;
  readonly #bars: MultiBar | undefined;
  readonly #bar: SingleBar | undefined;

  /**
   * @param total what counts as full, in any unit
   * @param before seconds that it has gone on already
   */
  constructor(output: Output, total: number, label: string, before = 0) {
    this.#output = output;
    if (!output.animated) return;
    const { cyan, dim } = output.noteColours;
    this.#bars = new MultiBar(
      {
        stream: output.stderr as NodeJS.WriteStream,
        format: `${cyan('{bar}')} {percentage}% {label} ${dim('{duration_formatted}')}`,
        formatTime: (seconds) => wholeDuration(before + seconds),
        barsize: 24,
        hideCursor: true,
        clearOnComplete: true,
        // A line above the bar erases it; only a forced redraw brings an unchanged bar back.
        forceRedraw: true,
        emptyOnZero: true,
      },
      Presets.shades_grey,
    );
    this.#bar = this.#bars.create(total, 0, { label });
  }

  /** @param total what counts as full, where that may have changed */
  update(value: number, label: string, total?: number): void {
    if (total !== undefined) this.#bar?.setTotal(total);
    this.#bar?.update(value, { label });
  }

  /** A line that stays. */
  line(text: string): void {
    if (this.#bars && this.#bar) this.#bars.log(`${WRAP}${text}\n${CUT}`);
    else if (!this.#output.json) this.#output.note(text);
  }

  /** Takes the bar away; the lines stay. Safe at any time. */
  stop(): void {
    if (!this.#bars?.isActive) return;
    // Lines wait for the next redraw; the last ones would be lost.
    this.#bars.update();
    this.#bars.stop();
  }
}
