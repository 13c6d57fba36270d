import { useState } from 'preact/hooks';
import { bytes } from '../../text/format.ts';
import { useDashboard } from '../context.ts';
import { Icon } from './icon.tsx';

interface Props {
  id: string;
  /** Bytes, where known. */
  size?: number;
  label: string;
  /** Of what, for messages and screen readers. */
  of: string;
}

/**
 * Saves an artifact. Without a token a plain link does, and the browser streams it to disk; a token has to go
 * with the request, which a link cannot do.
 */
export function DownloadButton({ id, size, label, of }: Props) {
  const dashboard = useDashboard();
  const [busy, setBusy] = useState(false);
  const words = `Download ${label}${size === undefined ? '' : ` ${bytes(size)}`} of ${of}`;
  const content = (
    <>
      <Icon name="download" /> <bdi>{label}</bdi>
      {size !== undefined && <span class="muted"> {bytes(size)}</span>}
    </>
  );
  if (dashboard.session.token.value === '') {
    const { href } = dashboard.api.url(`v1/artifacts/${encodeURIComponent(id)}`);
    return (
      <a class="button" href={href} download="" aria-label={words}>
        {content}
      </a>
    );
  }
  const save = () => {
    setBusy(true);
    const artifact = { id, ...(size === undefined ? {} : { size_bytes: size }) };
    void dashboard.download(artifact, `${label} of ${of}`).finally(() => setBusy(false));
  };
  return (
    <button type="button" class="button" disabled={busy} aria-label={words} onClick={save}>
      {content}
    </button>
  );
}
