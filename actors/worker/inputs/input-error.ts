/**
 * A fault of what the job names: a bad archive, a pipeline that makes no sense, an unknown dataset. Running the task
 * again cannot help, wherever, so it is reported as `input`, with `retriable: false` (docs/runners.md#how-it-ends).
 */
export class InputError extends Error {
  override name = 'InputError';
}
