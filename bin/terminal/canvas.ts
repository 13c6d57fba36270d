/** Dots of a braille character by their place in it: four rows of two columns. */
const DOTS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;
const BLANK = 0x2800;

/** A picture of dots, eight in each character. */
export class Canvas {
  /** In dots. */
  readonly columns: number;
  readonly rows: number;
  readonly #cells: number[][];

  /** @param size in characters */
  constructor({ width, height }: { width: number; height: number }) {
    this.columns = width * 2;
    this.rows = height * 4;
    this.#cells = Array.from({ length: height }, () => new Array<number>(width).fill(BLANK));
  }

  /** @param y from the top */
  dot(x: number, y: number): void {
    const line = this.#cells[Math.floor(y / 4)] as number[];
    const cell = Math.floor(x / 2);
    line[cell] = (line[cell] as number) | ((DOTS[y % 4] as readonly number[])[x % 2] as number);
  }

  get lines(): string[] {
    return this.#cells.map((line) => String.fromCharCode(...line));
  }
}
