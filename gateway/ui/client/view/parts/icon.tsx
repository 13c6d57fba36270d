/** Line icons on a 16 by 16 grid; always beside a text or in a labelled button. */
const PATHS = {
  chevron: 'M6 3.5 10.5 8 6 12.5',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  download: 'M8 2.5v7.5M4.5 7 8 10.5 11.5 7M3 13.5h10',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.2 12.5 8 5 12.8z',
  retry: 'M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3',
  stop: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM5.5 5.5l5 5',
  key: 'M10.2 9.3a3.8 3.8 0 1 0-3.5-3.5L2 10.5V14h3.5v-2h2V10zM11 5h.01',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3l3.4 3.4',
  warning: 'M8 2 14.5 13.5h-13zM8 6.5v3M8 11.7v.1',
  log: 'M3.5 2.5h9v11h-9zM6 6h4M6 8.5h4M6 11h2.5',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9',
  moon: 'M13.2 9.6A5.6 5.6 0 1 1 6.4 2.8a4.6 4.6 0 0 0 6.8 6.8z',
  auto: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
  chart: 'M2.5 2.5h4v4h-4zM9.5 9.5h4v4h-4zM4.5 6.5v5h5M7.5 9.5l2 2-2 2',
  offline: 'M2 2l12 12M3.2 6.6a7 7 0 0 1 2-1.3M7.6 4.5a7 7 0 0 1 5.2 2.1M5.4 9a4 4 0 0 1 2-1.1M8 12.2v.1',
  compare: 'M3 2.5h4v11H3zM9 2.5h4v11H9zM4.5 5h1M10.5 5h1M4.5 8h1',
  clock: 'M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM8 5v3.2l2.2 1.4',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
