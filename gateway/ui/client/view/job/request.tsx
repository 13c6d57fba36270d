import { useComputed } from '@preact/signals';
import { yamlText } from '../../../../../machines/json/yaml-text.ts';
import type { JobDetail } from '../../model/job-detail.ts';
import { Copy } from '../parts/copy.tsx';
import { Scroller } from '../parts/scroller.tsx';

/** The specification as it was submitted; its numbers stay text. */
export function Request({ detail }: { detail: JobDetail }) {
  const text = useComputed(() => (detail.request.value === null ? null : yamlText(detail.request.value)));
  if (text.value === null) return <p class="empty">Loading…</p>;
  return (
    <div class="document">
      <Copy text={text.value} what="specification" />
      <Scroller label="Submitted specification" class="frame">
        <pre>{text.value}</pre>
      </Scroller>
    </div>
  );
}
