import type { TaskView } from '../../../../machines/schema/views.ts';

/** What the runner of a task warned of, such as samples that were left out. */
export function warningsOf({ result }: TaskView): string[] {
  const { warnings } = (result?.extra ?? {}) as { warnings?: unknown };
  return Array.isArray(warnings) ? warnings.map(String) : [];
}

/** The same of several tasks, each warning once, with how many of them it is of. */
export function sharedWarnings(tasks: readonly TaskView[]): { text: string; tasks: number }[] {
  const counts = new Map<string, number>();
  for (const text of tasks.flatMap((task) => [...new Set(warningsOf(task))])) {
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, tasks]) => ({ text, tasks }));
}
