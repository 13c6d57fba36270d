import { AppError } from './app-error.ts';

/** Another server has taken the store over; this one ends, and stands by when it is started again. */
export class SupersededError extends AppError {
  readonly code = 'superseded';
}
