/** Words of the program's own, as SQL compares a column with them: `IN (…)`. */
export const sqlWords = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');

/**
 * SQL: how many rows at most, and behind how many, as parameters. SQLite plans a statement with a bare `LIMIT ?` anew
 * whenever it is run, since a plan might depend on the number; that takes longer than to find a few rows.
 */
export const LIMIT = 'LIMIT ? + 0';
export const OFFSET = 'OFFSET ? + 0';

/**
 * SQL: whether an event stands for deleted ones. What a worker reports under that name has a task, and does not.
 * @param event the table, with a point
 */
export const isGap = (event = ''): string => `(${event}type = 'gap' AND ${event}task_id IS NULL)`;
