import { readFile, stat } from 'node:fs/promises';
import { parseTolerant } from '../../../machines/json/raw.ts';
import type { Outcome } from '../../../machines/run.ts';
import { type FailReport, TaskResult } from '../../../machines/schema/report.ts';
import { validator } from '../../../machines/schema/validate.ts';
import type { Fingerprints } from '../inputs/pipeline.ts';
import type { ChildEnd } from './group.ts';

/** The exit code by which a runner says that the fault is in what the job names. */
const EXIT_INPUT_FAULT = 2;
/** How shells, and the programs that follow them, tell that what they ran was ended by SIGKILL: 128 and 9. */
const EXIT_KILLED = 137;
/** This worker's own SIGKILL is no end that is looked at here. The kernel's is what remains, as a rule. */
const KILLED = 'killed by SIGKILL, probably out of memory';
/** More than any server takes as a JSON body by default. */
const MAX_RESULT_BYTES = 16 * 1024 * 1024;
const MAX_ERROR_LENGTH = 2_000;

const NAMES_ERROR = /^[\w.]*(Error|Exception|Fault|Interrupt|Exit)\b.*?(:|$)/;

const check = validator(TaskResult);

/** How a child that has ended went: its result file, or why there is none to trust. */
export async function outcomeOf(
  end: ChildEnd,
  resultFile: string,
  errorText: string,
  fingerprints: Fingerprints,
): Promise<Outcome> {
  if (end.signal === 'SIGKILL') return failed(`the analysis was ${KILLED}`, errorText);
  if (end.signal !== null) return failed(`the analysis was ended by ${end.signal}`, errorText);
  if (end.code === EXIT_KILLED) return failed(`a process of the analysis was ${KILLED}`, errorText);
  if (end.code !== 0) {
    return failed(exitError(end.code, errorText), errorText, end.code !== EXIT_INPUT_FAULT);
  }
  const read = await readResult(resultFile);
  if ('fault' in read) return failed(read.fault, errorText);
  // Artifacts are what this worker uploads, whatever the runner says.
  const { artifacts: _, ...result } = read.result;
  const fingerprint = fingerprints.fixed ?? result.pipeline_fingerprint ?? fingerprints.fallback;
  return {
    verb: 'complete',
    result: {
      ...result,
      duration_seconds: result.duration_seconds ?? Number(end.seconds.toFixed(3)),
      ...(fingerprint !== undefined && { pipeline_fingerprint: fingerprint }),
    },
  };
}

/** What the child said of itself; beside words that name no error, the exit code is worth knowing. */
function exitError(code: number | null, errorText: string): string {
  const said = firstReadable(errorText);
  if (said === undefined) return `the analysis ended with exit code ${code} and said nothing`;
  const usual = code === 1 || code === EXIT_INPUT_FAULT;
  return usual && NAMES_ERROR.test(said) ? said : `${said} (exit code ${code})`;
}

type Read = { result: TaskResult } | { fault: string };

async function readResult(file: string): Promise<Read> {
  let value: unknown;
  try {
    const { size } = await stat(file);
    if (size > MAX_RESULT_BYTES)
      return { fault: `the result has ${size} bytes; ${MAX_RESULT_BYTES} are allowed` };
    value = parseTolerant(await readFile(file, 'utf8'));
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') {
      return { fault: 'the analysis ended without writing a result' };
    }
    return { fault: `the result cannot be read: ${(fault as Error).message}` };
  }
  const { status, error } = (value ?? {}) as { status?: unknown; error?: unknown };
  if (typeof status === 'string' && status !== 'succeeded') {
    return { fault: typeof error === 'string' && error ? error : `the analysis reports status '${status}'` };
  }
  const checked = check(value);
  if (checked.ok) return { result: checked.value };
  const faults = checked.faults.slice(0, 3).map((f) => `${f.path} ${f.message}`);
  return { fault: `the result is not valid: ${faults.join('; ')}` };
}

function failed(error: string, traceback: string, retriable = true): Outcome {
  const failure: FailReport = { error: error.slice(0, MAX_ERROR_LENGTH), retriable };
  if (traceback) failure.traceback = traceback;
  return { verb: 'fail', failure };
}

/**
 * The line of an error output that tells a person most: the last one that names an error (Python writes it
 * below the traceback, Node above), else the last one that is not indented.
 */
export function firstReadable(text: string): string | undefined {
  const lines = text.split('\n').map((line) => line.trimEnd());
  const outer = lines.filter((line) => line !== '' && !/^\s/.test(line));
  const named = outer.findLast((line) => NAMES_ERROR.test(line));
  return (
    named ?? outer.findLast((line) => !/^Node\.js v\d/.test(line)) ?? (lines.at(-1)?.trim() || undefined)
  );
}
