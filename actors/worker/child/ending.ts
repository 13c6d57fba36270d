import type { Failed, Outcome } from '../../../machines/attempt/attempt.ts';
import { depthExceeds, MAX_DEPTH } from '../../../machines/json/depth.ts';
import { parseTolerant } from '../../../machines/json/raw.ts';
import { knownVersion } from '../../../machines/matching/library-version.ts';
import { TaskResult } from '../../../machines/schema/report.ts';
import { validator } from '../../../machines/schema/validate.ts';
import { failedBy } from '../attempt/failure.ts';
import type { WorkerError } from '../errors.ts';
import { readPlain } from '../files.ts';
import type { Fingerprints } from '../inputs/pipeline.ts';
import { type ErrorReport, errorReportIn } from './error-file.ts';
import type { ChildEnd } from './run-group.ts';

/** The exit code by which a runner says that the fault is in what the job names. */
const EXIT_INPUT_FAULT = 2;
/** The one by which it says that it cannot work on this machine: `EX_UNAVAILABLE` of sysexits.h. */
const EXIT_UNAVAILABLE = 69;
/** So do shells and `env` for a program that may not be executed, and one that is not there. */
const EXITS_UNAVAILABLE: ReadonlySet<number | null> = new Set([EXIT_UNAVAILABLE, 126, 127]);
/** How shells, and the programs that follow them, tell that what they ran was ended by SIGKILL: 128 and 9. */
const EXIT_KILLED = 137;
/** This worker's own SIGKILL is no end that is looked at here. The kernel's is what remains, as a rule. */
const KILLED = 'killed by SIGKILL, probably out of memory';
/** More than any server takes as a JSON body by default. */
const MAX_RESULT_BYTES = 16 * 1024 * 1024;
/** Levels of a result: those of the report that it travels in come on top. */
const MAX_LEVELS = MAX_DEPTH - 10;
const MAX_ERROR_LENGTH = 2_000;

const NAMES_ERROR = /^[\w.]*(Error|Exception|Fault|Interrupt|Exit)\b.*?(:|$)/;
/** How programs pass on what the system says of a full disk. */
const NAMES_FULL_DISK = /\b(ENOSPC|EDQUOT)\b|No space left on device|Disk quota exceeded/;

const check = validator(TaskResult);

export interface EndedChild {
  end: ChildEnd;
  /** The result file, and the folder below which no link to it is followed. */
  file: { path: string; base: string };
  /** The end of what it wrote to stderr. */
  errorText: string;
  fingerprints: Fingerprints;
  library: { name: string; version: string | undefined };
  /**
   * What this worker finds wrong with itself, asked once the child has not succeeded.
   * @param wasFine whether it ended as if it had: with exit code 0, but no result that can be used
   */
  ownFault(wasFine: boolean): Promise<WorkerError | null>;
}

/** How a child that has ended went: its result file, or why there is none to trust. */
export async function outcomeOf(child: EndedChild): Promise<Outcome> {
  const { end, fingerprints, library } = child;
  const read = await readResult(child.file);
  if (end.code !== 0 || end.signal !== null || !('result' in read)) {
    const failure = failureOf(child, 'result' in read ? {} : read);
    // A runner that found the time to say so has run.
    const isSaid = 'said' in read && failure.failure.fault === 'input';
    return isSaid ? failure : blamed(failure, child, end.code === 0 && 'unusable' in read);
  }
  // Artifacts are what this worker uploads, whatever the runner says.
  const { artifacts: _, ...result } = read.result;
  const fingerprint = fingerprints.fixed ?? result.pipeline_fingerprint ?? fingerprints.fallback;
  return {
    verb: 'complete',
    result: {
      // Of a runner that does not say with which version it computed, what this worker knows.
      ...(knownVersion(library.version) !== null && { [`${library.name}_version`]: library.version }),
      ...result,
      duration_seconds: result.duration_seconds ?? Number(end.seconds.toFixed(3)),
      ...(fingerprint !== undefined && { pipeline_fingerprint: fingerprint }),
    },
  };
}

/** What the result file holds: a result, what a runner that failed says of it, or why it cannot be used. */
type Read = { result: TaskResult } | { said: ErrorReport } | { unusable: string };

/** A failure as the child tells it, by its end and its own words. */
function failureOf({ end, errorText }: EndedChild, read: { said?: ErrorReport; unusable?: string }): Failed {
  if (end.signal === 'SIGKILL') return failed(`the analysis was ${KILLED}`, errorText);
  if (end.signal !== null) return failed(`the analysis was ended by ${end.signal}`, errorText);
  if (end.code === EXIT_KILLED) return failed(`a process of the analysis was ${KILLED}`, errorText);
  const { said } = read;
  const error =
    said?.error ?? (end.code === 0 ? (read.unusable ?? 'no result') : exitError(end.code, errorText));
  const unavailable = EXITS_UNAVAILABLE.has(end.code);
  const fault = said?.fault ?? faultOf(end.code, errorText);
  const failure = { ...failed(error, errorText).failure, fault, retriable: fault !== 'input' };
  if (fault === 'worker' && said?.missing_path !== undefined) {
    return { verb: 'fail', failure: { ...failure, missing_path: said.missing_path } };
  }
  return { verb: 'fail', failure, ...(fault === 'worker' && unavailable && { own: true }) };
}

function faultOf(code: number | null, errorText: string): NonNullable<ErrorReport['fault']> {
  if (code === EXIT_INPUT_FAULT) return 'input';
  if (EXITS_UNAVAILABLE.has(code)) return 'worker';
  return NAMES_FULL_DISK.test(firstReadable(errorText) ?? '') ? 'worker' : 'task';
}

/** The failure, or the worker's own fault that explains it better. */
async function blamed(failure: Failed, { ownFault }: EndedChild, wasFine: boolean): Promise<Failed> {
  const own = await ownFault(wasFine);
  if (own === null) return failure;
  const { error, traceback } = failure.failure;
  const { failure: report } = failedBy(own);
  return {
    verb: 'fail',
    failure: { ...report, error: cut(`${report.error}: ${error}`), ...(traceback && { traceback }) },
    own: own.own,
  };
}

/** What the child said of itself; beside words that name no error, the exit code is worth knowing. */
function exitError(code: number | null, errorText: string): string {
  const said = firstReadable(errorText);
  if (said === undefined) return `the analysis ended with exit code ${code} and said nothing`;
  const usual = code === 1 || code === EXIT_INPUT_FAULT || code === EXIT_UNAVAILABLE;
  return usual && NAMES_ERROR.test(said) ? said : `${said} (exit code ${code})`;
}

async function readResult({ path, base }: EndedChild['file']): Promise<Read> {
  let value: unknown;
  try {
    // Programs of Windows begin with a byte order mark.
    const text = (await readPlain(base, path, MAX_RESULT_BYTES)).replace(/^\uFEFF/, '');
    if (depthExceeds(text, MAX_LEVELS))
      return { unusable: `the result is nested deeper than ${MAX_LEVELS} levels` };
    value = parseTolerant(text);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return { unusable: 'the analysis ended without writing a result' };
    }
    return { unusable: `the result cannot be read: ${(error as Error).message}` };
  }
  const said = errorReportIn(value);
  if (said !== null) return { said };
  const checked = check(value);
  if (checked.ok) return { result: checked.value };
  const faults = checked.faults.slice(0, 3).map((f) => `${f.path} ${f.message}`);
  return { unusable: `the result is not valid: ${faults.join('; ')}` };
}

function failed(error: string, traceback: string): Failed {
  return {
    verb: 'fail',
    failure: { error: cut(error), retriable: true, fault: 'task', ...(traceback && { traceback }) },
  };
}

const cut = (error: string): string => error.slice(0, MAX_ERROR_LENGTH);

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
