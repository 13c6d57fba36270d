import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Fleet, readFleet } from '../../machines/fleet/file.ts';
import { YamlError, yamlToJson } from '../../machines/json/yaml.ts';
import { CliError, EXIT, usageError } from '../cli/exit.ts';
import { issueLines } from '../cli/explain.ts';

/**
 * Reads a fleet file, YAML or JSON (docs/operations.md#workers-that-come-when-there-is-work). A directory that it names lies
 * below the folder of the file.
 * @throws CliError that lists everything that is wrong with it; the system's error where it cannot be read
 */
export async function readFleetFile(path: string): Promise<Fleet> {
  const read = readFleet(parse(path, await readFile(path, 'utf8')));
  if ('faults' in read) {
    throw new CliError(EXIT.usage, `${path} is not a valid fleet`, { details: issueLines(read.faults) });
  }
  const { fleet } = read;
  return { ...fleet, state: resolve(dirname(path), fleet.state) };
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(yamlToJson(text));
  } catch (error) {
    if (error instanceof YamlError) throw usageError(`${path}: ${error.message}`);
    throw error;
  }
}
