import { EXIT } from '../cli/exit.ts';
import { localError } from '../cli/local-error.ts';

let onReaderGone: () => void = () => process.exit(EXIT.done);

/**
 * A reader that closes early, such as `| head`, has seen what it wanted: a quiet end. Whatever else keeps the output
 * from being written, such as a full disk behind `> file`, is told.
 */
function end(fault: NodeJS.ErrnoException): void {
  if (fault.code === 'EPIPE') {
    onReaderGone();
    return;
  }
  process.stderr.write(`error: cannot write the output: ${localError(fault) ?? fault.message}\n`);
  process.exit(EXIT.output);
}

function ignore(): void {}

/** Ends this process once its result cannot be written. What is said beside it, on stderr, may be lost. */
export function endOnLostOutput(): void {
  process.stdout.on('error', end);
  process.stderr.on('error', ignore);
}

/** For commands whose exit code is the outcome of what they wait for: it is returned, also when nobody reads any more. */
export function outliveReader(): void {
  onReaderGone = ignore;
}

/** For programs that serve: their messages may be lost, the program stays. Idempotent. */
export function outliveLostOutput(): void {
  process.stdout.off('error', end);
  for (const stream of [process.stdout, process.stderr]) {
    stream.off('error', ignore);
    stream.on('error', ignore);
  }
}
