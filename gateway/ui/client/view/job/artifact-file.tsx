import { useEffect, useMemo } from 'preact/hooks';
import { ArtifactText } from '../../model/artifact-text.ts';
import { useDashboard } from '../context.ts';
import { Fault } from '../parts/section.tsx';

/** What is read of a file that a task left, loaded once. */
export function useArtifact<Read>(id: string, parse: (text: string) => Read): ArtifactText<Read> {
  const { api } = useDashboard();
  const file = useMemo(() => new ArtifactText(api, id, parse), [id]);
  useEffect(() => {
    void file.load();
  }, [file]);
  return file;
}

export function Unread({ of, what }: { of: ArtifactText<unknown>; what: string }) {
  const fault = of.fault.value;
  return fault === null ? null : (
    <Fault text={`${what} could not be read: ${fault}`} onRetry={() => void of.load()} />
  );
}
