import { KNOWN_ROLES } from '../protocol/artifact-roles.ts';
import { cutText, fitObject, LIMITS, shown } from '../protocol/limits.ts';
import type { FailReport, ReportedEvent, TaskResult } from '../schema/report.ts';

/*
 * A worker's report beyond a limit is never refused (docs/protocol.md#limits): what is too long is cut here and says so,
 * since a result must not be lost for the length of a text.
 */

export function boundedFailure(failure: FailReport): FailReport {
  const { error, traceback, missing_path, ...rest } = failure;
  return {
    ...rest,
    error: cutText(error, LIMITS.error),
    ...(traceback !== undefined && { traceback: cutText(traceback, LIMITS.traceback) }),
    // No job names a longer one.
    ...(missing_path !== undefined && missing_path.length <= LIMITS.path && { missing_path }),
  };
}

export function boundedEvent(event: ReportedEvent): ReportedEvent {
  const { type, message, data } = event;
  return {
    ...event,
    ...(type !== undefined && { type: cutText(type, LIMITS.type) }),
    ...(message !== undefined && { message: cutText(message, LIMITS.message) }),
    ...(data !== undefined && { data: fitObject(data, LIMITS.data).value }),
  };
}

type Members = Record<string, unknown>;

/** What stands of a result, and a sentence for each thing that was moved or left out. */
export interface BoundedResult {
  result: TaskResult;
  notes: string[];
}

/**
 * A result within its limits. Of `metrics` and `counts` stay the numbers, of metrics at most `most`; whatever else they
 * hold moves to `extra`, in a member of their name.
 */
export function boundedResult(reported: TaskResult, most: number = LIMITS.numbers): BoundedResult {
  const {
    status = 'succeeded',
    pipeline_fingerprint,
    duration_seconds,
    metrics,
    counts,
    artifacts,
    extra,
    ...unknown
  } = reported;
  const notes: string[] = [];
  let overflow: Members | undefined = extra;
  const numbers = (name: string, map: Members, most: number = LIMITS.numbers): Members => {
    if (areNumbers(map, most)) return map;
    const { kept, moved } = numbersOf(map, most);
    const names = Object.keys(moved);
    const place = freeName(overflow ?? {}, name);
    overflow = { ...overflow, [place]: moved };
    notes.push(
      `${names.length} of ${name} moved to extra.${place}, not being numbers that fit: ${shown(names)}`,
    );
    return kept;
  };
  const fitted = (name: string, value: Members): Members => {
    const { value: kept, leftOut } = fitObject(value, LIMITS.extra);
    if (leftOut !== null) notes.push(`${name} left out: ${leftOut}`);
    return kept;
  };
  const bounded: TaskResult = {
    ...fitted('the members that nobody here knows', unknown),
    status,
  };
  // One by one: names that are only known as the program runs cost several times as much, once a report.
  if (pipeline_fingerprint !== undefined)
    bounded.pipeline_fingerprint = cutText(pipeline_fingerprint, LIMITS.value);
  if (duration_seconds !== undefined) bounded.duration_seconds = duration_seconds;
  if (metrics) bounded.metrics = numbers('metrics', metrics, most);
  if (counts) bounded.counts = numbers('counts', counts);
  if (artifacts) bounded.artifacts = rolesOf(artifacts, notes);
  if (overflow) bounded.extra = fitted('extra', overflow);
  return { result: bounded, notes };
}

/** Whether a map holds numbers alone, as many as it may; as it is nearly always. */
function areNumbers(map: Members, most: number): boolean {
  const names = Object.keys(map);
  return names.length <= most && names.every((name) => isNumber(map[name]) && name.length <= LIMITS.key);
}

/** The first numbers of a map, as many as it may hold; null is a number that was not finite. */
function numbersOf(map: Members, most: number): { kept: Members; moved: Members } {
  const names = Object.keys(map);
  const numbers = names.filter((name) => isNumber(map[name]) && name.length <= LIMITS.key);
  const kept = new Set(numbers.slice(0, most));
  const pick = (wanted: boolean) =>
    Object.fromEntries(names.filter((name) => kept.has(name) === wanted).map((name) => [name, map[name]]));
  return { kept: pick(true), moved: pick(false) };
}

const isNumber = (value: unknown): boolean => value === null || typeof value === 'number';

/** A member's name that is not taken. */
function freeName(members: Members, name: string): string {
  let free = name;
  while (Object.hasOwn(members, free)) free = `${free}_`;
  return free;
}

type Roles = NonNullable<TaskResult['artifacts']>;

/** Roles that this system knows are kept before all others. */
function rolesOf(artifacts: Roles, notes: string[]): Roles {
  const all = Object.keys(artifacts);
  const roles = all.filter((role) => role.length <= LIMITS.key);
  if (roles.length === all.length && all.length <= LIMITS.numbers) return artifacts;
  const ordered = new Set<string>([...KNOWN_ROLES.filter((role) => roles.includes(role)), ...roles]);
  const kept = new Set([...ordered].slice(0, LIMITS.numbers));
  const entries = Object.entries(artifacts);
  if (kept.size < entries.length) notes.push(`${entries.length - kept.size} roles of artifacts left out`);
  return Object.fromEntries(entries.filter(([role]) => kept.has(role)));
}
