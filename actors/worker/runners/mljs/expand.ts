import { basename } from 'node:path';
import { InputError } from '../../errors.ts';
import { isMapping } from './options.ts';
import { parsePipeline, readContent, stepList } from './pipeline.ts';

/**
 * The pipelines that a pipeline file holds, one for each of its component counts, as JSON texts.
 *
 * @throws InputError where the pipeline makes no sense, or holds more than so many
 */
export function expandPipeline(path: string, atMost: number): string[] {
  const source = basename(path);
  const content = readContent(path);
  const { components } = parsePipeline(content, source);
  if (components.length > atMost) {
    throw new InputError(
      `${source}: pls: ${components.length} component counts; at most ${atMost} are taken`,
    );
  }
  const steps = stepList(content, source);
  return components.map((count) =>
    JSON.stringify(
      steps.map((step) => (isMapping(step) && 'pls' in step ? { pls: { components: count } } : step)),
    ),
  );
}
