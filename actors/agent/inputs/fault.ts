/**
 * A fault of what the job names: a missing path, a bad archive, an unknown dataset. Running the task again
 * cannot help, so it is reported with `retriable: false` (contract, "The runner protocol").
 */
export class InputFault extends Error {
  override name = 'InputFault';
}
