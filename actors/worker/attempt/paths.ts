import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { AttemptRef } from '../../../machines/attempt/attempt.ts';

/** Where the files of one attempt lie. */
export interface AttemptPaths {
  /** Below it nothing that a task made is followed, should it be a link. */
  base: string;
  /** Everything below it goes with the attempt. */
  root: string;
  /**
   * Which attempt it is, and which processes run it, while nothing of its end is known, for the worker program that comes
   * after a crash.
   */
  attempt: string;
  /** Made where there is something to put into it. */
  inputs: string;
  /** An inline pipeline, which needs no folder. */
  pipeline: string;
  workspace: string;
  output: string;
  spec: string;
  result: string;
  log: string;
  /** Its pipes, while a warm host makes it, and what that learns of it at its end. */
  stdout: string;
  stderr: string;
  learned: string;
  /** The packed workspace. */
  archive: string;
}

export const tasksFolder = (state: string): string => join(state, 'tasks');
export const outboxFolder = (state: string): string => join(state, 'outbox');
/** Where inputs are kept, unless the worker was given another place. */
export const cacheFolder = (state: string): string => join(state, 'cache');

export function attemptPaths(state: string, ref: Pick<AttemptRef, 'task_id' | 'attempt'>): AttemptPaths {
  const root = join(tasksFolder(state), safeName(ref.task_id), String(ref.attempt));
  const inRoot = (name: string) => join(root, name);
  return {
    base: tasksFolder(state),
    root,
    attempt: inRoot('attempt.json'),
    inputs: inRoot('inputs'),
    pipeline: inRoot('pipeline.json'),
    workspace: inRoot('workspace'),
    output: inRoot('output'),
    spec: inRoot('spec.json'),
    result: inRoot('result.json'),
    log: inRoot('run.log'),
    stdout: inRoot('stdout'),
    stderr: inRoot('stderr'),
    learned: inRoot('learned.json'),
    archive: inRoot('workspace.zip'),
  };
}

/** Ids are opaque: one that would mean something to the file system is replaced by its hash. */
export function safeName(id: string): string {
  if (/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,120}$/.test(id)) return id;
  return `id-${createHash('sha256').update(id).digest('hex')}`;
}
