import { ModelRef } from '../../../machines/schema/job.ts';
import { validator } from '../../../machines/schema/validate.ts';
import { InputError } from '../errors.ts';
import type { InputContext } from './input-context.ts';
import type { PlacedPipeline } from './pipeline.ts';

const check = validator(ModelRef);

/**
 * The model that a task predicts with, under the name that it was stored by, which tells runners its format.
 * @throws InputError
 */
export async function placeModel({
  lease,
  artifacts,
  folder,
  persistence,
}: InputContext): Promise<PlacedPipeline> {
  const checked = check(lease.payload.model);
  const id = checked.ok ? checked.value.artifact_id : undefined;
  if (id === undefined) throw new InputError('this worker cannot take the model: it is no artifact');
  const { path } = await artifacts.place({ id, folder, name: 'model', archive: null, persistence });
  return { local: { mode: 'path', path }, fingerprints: {} };
}
