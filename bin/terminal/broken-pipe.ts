/** A reader that closes early, such as `| head`, has seen what it wanted: end quietly. */
function end(fault: NodeJS.ErrnoException): void {
  if (fault.code === 'EPIPE') process.exit(0);
  throw fault;
}

/** Ends this process without a word once nobody reads its output any more. */
export function endOnBrokenPipe(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', end);
}

function ignore(): void {}

/** For programs that serve: the reader of their messages may go, the program stays. Idempotent. */
export function outliveBrokenPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.off('error', end);
    stream.off('error', ignore);
    stream.on('error', ignore);
  }
}
