import { cutText, fitObject, LIMITS, shown } from './limits.ts';
import type { FailReport, ReportedEvent, TaskResult } from './schema/report.ts';

/*
 * A worker's report beyond a limit is never refused (contract, "Limits"): what is too long is cut here and says so,
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
  const overflow: Members = { ...extra };
  const numbers = (name: string, map: Members | undefined, most?: number): Members | undefined => {
    if (map === undefined) return undefined;
    const { kept, moved } = numbersOf(map, most);
    const names = Object.keys(moved);
    if (names.length > 0) {
      const place = freeName(overflow, name);
      overflow[place] = moved;
      notes.push(
        `${names.length} of ${name} moved to extra.${place}, not being numbers that fit: ${shown(names)}`,
      );
    }
    return kept;
  };
  const bounded = {
    status,
    pipeline_fingerprint: pipeline_fingerprint && cutText(pipeline_fingerprint, LIMITS.value),
    duration_seconds,
    metrics: numbers('metrics', metrics, most),
    counts: numbers('counts', counts),
    artifacts: artifacts && rolesOf(artifacts, notes),
  };
  const fitted = (name: string, value: Members): Members => {
    const { value: kept, leftOut } = fitObject(value, LIMITS.extra);
    if (leftOut !== null) notes.push(`${name} left out: ${leftOut}`);
    return kept;
  };
  const others = fitted('the members that nobody here knows', unknown);
  const rest =
    extra === undefined && Object.keys(overflow).length === 0 ? undefined : fitted('extra', overflow);
  const result: Members = others;
  for (const [name, member] of Object.entries({ ...bounded, extra: rest })) {
    if (member !== undefined) result[name] = member;
  }
  return { result: result as TaskResult, notes };
}

/** The first numbers of a map, as many as it may hold; null is a number that was not finite. */
function numbersOf(map: Members, most: number = LIMITS.numbers): { kept: Members; moved: Members } {
  const names = Object.keys(map);
  const numbers = names.filter((name) => isNumber(map[name]) && name.length <= LIMITS.key);
  // As it is nearly always, and this is on the way of every report.
  if (numbers.length === names.length && names.length <= most) return { kept: map, moved: {} };
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

/** Roles that this system uses are kept before all others. */
const USED_ROLES = ['model', 'logs', 'workspace'];

function rolesOf(artifacts: NonNullable<TaskResult['artifacts']>, notes: string[]): Members {
  const roles = Object.keys(artifacts).filter((role) => role.length <= LIMITS.key);
  const ordered = new Set([...USED_ROLES.filter((role) => roles.includes(role)), ...roles]);
  const kept = new Set([...ordered].slice(0, LIMITS.numbers));
  const entries = Object.entries(artifacts);
  if (kept.size < entries.length) notes.push(`${entries.length - kept.size} roles of artifacts left out`);
  return Object.fromEntries(entries.filter(([role]) => kept.has(role)));
}
