/** Words of the program's own, as SQL compares a column with them: `IN (…)`. */
export const sqlWords = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');

/**
 * SQL: whether an event stands for deleted ones. What a worker reports under that name has a task, and does not.
 * @param event the table, with a point
 */
export const isGap = (event = ''): string => `(${event}type = 'gap' AND ${event}task_id IS NULL)`;
