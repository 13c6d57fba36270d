/** The smallest job. */
export const JOB = {
  type: 'demo.run',
  pipeline: { kind: 'inline_json', inline: {} },
  dataset: { kind: 'shared_path', path: '/d' },
} as const;

/** So many pipelines, each another one. */
export const pipelines = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ kind: 'inline_json' as const, inline: { i } }));

/** A job of so many tasks; give what differs. */
export const sweep = (count: number, differs: Record<string, unknown> = {}) => ({
  ...{ type: JOB.type, pipelines: pipelines(count), dataset: JOB.dataset },
  ...differs,
});
