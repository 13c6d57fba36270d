/** What is submitted and reported: of the size that real jobs have, the same for every queue that is measured. */

export const PACKAGE = 'demo';

/** A one-task job, about 400 bytes. */
export function oneTaskJob(name: string): string {
  return JSON.stringify({
    type: `${PACKAGE}.run`,
    name,
    pipeline: {
      kind: 'inline_json',
      inline: [
        'snv',
        { savitzky_golay: { window: 11, order: 2, derivative: 1 } },
        { pls: { components: 8 } },
      ],
    },
    dataset: { kind: 'shared_path', path: '/data/spectra/gasoline', name: 'gasoline' },
    params: { random_state: 42, refit: true, verbose: 0 },
    outputs: { export_best_model: false },
    retry: { max_attempts: 3 },
  });
}

/** A job of pipelines × datasets; `requirements` as in the job specification. */
export function matrixJob(pipelines: number, datasets: number, requirements?: object): string {
  return JSON.stringify({
    type: `${PACKAGE}.run`,
    name: 'matrix',
    pipelines: Array.from({ length: pipelines }, (_, i) => ({
      kind: 'inline_json',
      inline: ['snv', { savitzky_golay: { window: 11, order: 2 } }, { pls: { components: i + 1 } }],
    })),
    datasets: Array.from({ length: datasets }, (_, i) => ({ kind: 'shared_path', path: `/data/${i}` })),
    params: { random_state: 42 },
    ...(requirements ? { requirements } : {}),
  });
}

/** What a worker registers with. */
export function worker(name: string, slots: number): string {
  return JSON.stringify({
    name,
    slots_total: slots,
    labels: { site: 'lab-a' },
    capabilities: { memory_gb: 64 },
    version: { node: process.versions.node, cluster: '0.1.0', packages: { [PACKAGE]: '1.0.0' } },
  });
}

/** A task result. */
export const RESULT = {
  status: 'succeeded',
  demo_version: '1.0.0',
  duration_seconds: 1.25,
  metrics: { best_score: 0.93, best_rmse: 0.2154, best_r2: 0.9641, best_accuracy: null },
  counts: { num_predictions: 120 },
};
