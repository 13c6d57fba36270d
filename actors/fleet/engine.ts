import type { Template } from '../../machines/fleet/file.ts';
import type { Allocation } from '../../machines/fleet/plan.ts';
import { AppError } from '../../machines/protocol/app-error.ts';

/** What an engine shows of the allocations of some templates. */
export interface Look {
  /** Those that wait or run, whoever asked for them. */
  allocations: Allocation[];
  /** Those that ended as none should since the last look, and why, as people read it. */
  failures: { template: string; why: string }[];
}

/** What is asked for: places of a template. */
export interface Asked {
  places: readonly number[];
  /** How many of them, the first, stay without work. */
  permanent: number;
}

/** Where machines come from. It remembers nothing: what is there, is what it shows. */
export interface Engine {
  /** @throws EngineError when it cannot be looked at */
  look(templates: readonly Template[]): Promise<Look>;
  /** @throws EngineError when it refuses, with its words */
  ask(template: Template, asked: Asked): Promise<void>;
  /** Gives up allocations as far as they have not started: what has started meanwhile goes on. */
  withdraw(allocations: readonly Allocation[]): Promise<void>;
  /** Tells the workers of allocations that run to end: they finish what they have, and take nothing more. */
  drain(allocations: readonly Allocation[]): Promise<void>;
}

/** That an engine does not do what it is asked for, and why. */
export class EngineError extends AppError {
  readonly code = 'engine_refused';
}
