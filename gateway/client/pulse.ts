/** Milliseconds of silence after which a server is asked whether it is there, and that this answer may take. */
export const PULSE_MS = 5_000;

/**
 * Waits for a server as long as it is there. Of several one that is stopped, or whose machine is gone, takes requests and answers none; who waits
 * with an answer, as for a lease, answers others meanwhile: that is what it is asked for.
 * @param isThere asks for so many milliseconds at most
 * @param signal the caller's own
 * @param work what is waited for; its signal is aborted when the server is gone, or the caller gives up
 */
export async function whileThere<T>(
  isThere: (ms: number) => Promise<boolean>,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const gone = new AbortController();
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    timer = setTimeout(() => void look(), PULSE_MS);
  };
  const look = async () => {
    const answers = await isThere(PULSE_MS);
    if (isOver) return;
    if (answers) begin();
    else gone.abort(new Error('it answers nothing any more'));
  };
  begin();
  try {
    return await work(signal ? AbortSignal.any([signal, gone.signal]) : gone.signal);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}
