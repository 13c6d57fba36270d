/**
 * What every error of this project's own derives from: a code for programs, a sentence for people. An error that is
 * none of these comes from the system or a package, or is a defect.
 */
export abstract class AppError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
