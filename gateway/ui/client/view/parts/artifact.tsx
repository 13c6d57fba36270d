import type { ArtifactView } from '../../../../../machines/schema/views.ts';
import { bytes, date, dateTime } from '../../text/format.ts';
import { DownloadButton } from './download.tsx';

interface Props {
  artifact: Pick<ArtifactView, 'id' | 'size_bytes' | 'expired_at'>;
  label: string;
  /** Of what, for messages and screen readers. */
  of: string;
}

/** An artifact with its button; of one whose time is over, when it was deleted. */
export function Artifact({ artifact, label, of }: Props) {
  const { id, size_bytes: size, expired_at: at } = artifact;
  if (at === null || at === undefined) return <DownloadButton id={id} size={size} label={label} of={of} />;
  return (
    <span class="expired" title={`${label} of ${of} was deleted at ${dateTime(at)}: its time was over`}>
      <bdi>{label}</bdi> {bytes(size)}, deleted {date(at)}
    </span>
  );
}

/** The first of them in a role whose bytes are there. */
export const fileOf = (list: readonly ArtifactView[], role: string): ArtifactView | undefined =>
  list.find((artifact) => artifact.role === role && (artifact.expired_at ?? null) === null);

const WORDS = {
  predictions: 'The predictions were',
  curves: 'The curves were',
  spectra: 'The spectra were',
  preprocessed: 'The preprocessed spectra were',
  logs: 'The log file was',
};

/** Says of what would be shown here that it was deleted; nothing where it was not. */
export function Deleted({ of: list, what }: { of: readonly ArtifactView[]; what: keyof typeof WORDS }) {
  const at = list.find(({ role }) => role === what)?.expired_at ?? null;
  if (at === null || fileOf(list, what)) return null;
  return (
    <p class="muted">
      {WORDS[what]} deleted on{' '}
      <time dateTime={new Date(at * 1000).toISOString()} title={dateTime(at)}>
        {date(at)}
      </time>
      , as this server is set.
    </p>
  );
}
