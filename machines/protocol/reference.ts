/**
 * What people write for a job, a task or a worker: its whole id, or what is shown of it. A text may be several of
 * these; each that is there is enough.
 */
export interface Reference {
  /** The id begins so, as in `job_01k9` and `job_01k9…`. */
  begins?: string;
  /** The id ends so, as in `…7fq1bvvs` and `7fq1bvvs`. */
  ends?: string;
  /** The name is this one, in lower case. */
  name?: string;
}

/** What can be referred to. */
export interface Named {
  id: string;
  name?: string | null | undefined;
}

/** Characters of an id, its kind not counted, below which a part of it says too little. */
const SHORTEST = 4;
const ELLIPSIS = '(?:…|\\.{3})';
const CUT_BEFORE = new RegExp(`^${ELLIPSIS}`);
const CUT_BEHIND = new RegExp(`${ELLIPSIS}$`);

/** Reads what a person wrote. A part of an id that is too short to mean anything is none. */
export function readReference(text: string): Reference {
  const written = text.trim().toLowerCase();
  const part = written.replace(CUT_BEFORE, '').replace(CUT_BEHIND, '');
  const reference: Reference = {};
  if (!CUT_BEFORE.test(written) && lengthBehindKind(part) >= SHORTEST) reference.begins = part;
  if (!CUT_BEHIND.test(written) && part.length >= SHORTEST) reference.ends = part;
  if (written !== '') reference.name = written;
  return reference;
}

/** Characters behind the `job_` of an id; 0 where there is none. */
const lengthBehindKind = (part: string): number => /^[a-z]+_(.*)$/s.exec(part)?.[1]?.length ?? 0;

/** Whether a reference can mean this one. */
export function refersTo({ begins, ends, name }: Reference, named: Named): boolean {
  const id = named.id.toLowerCase();
  return (
    (begins !== undefined && id.startsWith(begins)) ||
    (ends !== undefined && id.endsWith(ends)) ||
    (name !== undefined && named.name?.toLowerCase() === name)
  );
}

/** Those that a text can mean; a whole id means that one alone. */
export function referredTo<T extends Named>(text: string, among: readonly T[]): T[] {
  const whole = among.filter(({ id }) => id === text.trim());
  if (whole.length > 0) return whole;
  const reference = readReference(text);
  return among.filter((named) => refersTo(reference, named));
}
