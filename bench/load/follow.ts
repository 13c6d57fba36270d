import { FrameReader } from './frames.ts';
import type { Control } from './loads.ts';
import { quantile } from './quantiles.ts';

/** Sampled; a hundred thousand frames a second would be too many to keep. */
const SAMPLE = 16;

/**
 * Clients that follow a stream until each has every tick: an event or frame that holds `"n":` and `"sent":`, its
 * number and the wall-clock time of its sending in milliseconds.
 * @throws Error when a client misses a tick, gets one twice or in another order, or is closed
 */
export async function follow(
  {
    url,
    path,
    clients,
    ticks,
    seconds,
  }: {
    url: string;
    path: string;
    clients: number;
    ticks: number;
    /** Seconds after which what has not come is missing. */
    seconds: number;
  },
  control: Control,
): Promise<{ frames: number; p50: number; p99: number; worst: number }> {
  let frames = 0;
  let complete = 0;
  let begun = false;
  let worst = 0;
  const delays: number[] = [];
  let finished: (error?: Error) => void = () => {};
  const all = new Promise<void>((resolve, reject) => {
    finished = (fault) => (fault ? reject(fault) : resolve());
  });
  all.catch(() => {});
  const readers: FrameReader[] = [];
  const open = async () => {
    let next = 0;
    const reader = await FrameReader.open(url, path, (text) => {
      const at = text.indexOf('"sent":');
      if (at < 0) return;
      if (!begun) finished(new Error('a tick came before the first was sent'));
      const n = Number.parseInt(text.slice(text.indexOf('"n":') + 4), 10);
      if (n !== next) finished(new Error(`tick ${n} came where ${next} was due`));
      next++;
      frames++;
      const delay = performance.timeOrigin + performance.now() - Number.parseFloat(text.slice(at + 7));
      if (delay > worst) worst = delay;
      if (frames % SAMPLE === 0) delays.push(delay);
      if (next === ticks && ++complete === clients) finished();
    });
    reader.onFault(finished);
    readers.push(reader);
  };
  for (let i = 0; i < clients; i += 50) {
    await Promise.all(Array.from({ length: Math.min(50, clients - i) }, open));
  }
  begun = true;
  await control.ready();
  const late = setTimeout(() => {
    finished(new Error(`${frames} of ${clients * ticks} frames came within ${seconds} s`));
  }, seconds * 1000);
  await all;
  clearTimeout(late);
  for (const reader of readers) reader.close();
  return { frames, p50: quantile(delays, 0.5), p99: quantile(delays, 0.99), worst };
}
