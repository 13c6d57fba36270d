import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Prediction } from '../../../../../machines/results/predictions.ts';
import { parseSpectra, placeOf, type Spectra } from '../../../../../machines/results/spectra.ts';
import { count, counted } from '../../text/format.ts';
import { Choices } from '../parts/choices.tsx';
import { Unread, useArtifact } from './artifact-file.tsx';
import { SpectraPlot } from './spectra-plot.tsx';

type Kind = 'raw' | 'preprocessed';

/** Files of spectra by what was done to them; one of them at least. */
export type SpectraFiles = ReadonlyMap<Kind, string>;

/** The sample whose point was chosen among the predictions. */
export type ChosenSample = Signal<Prediction | null>;

interface Props {
  files: SpectraFiles;
  chosen: ChosenSample;
}

/** The spectra that a task was run on, as they were read and as its model sees them. */
export function SpectraSection({ files, chosen }: Props) {
  const kinds = [...files.keys()];
  const kind = useSignal<Kind>(kinds[0] as Kind);
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (chosen.value) section.current?.scrollIntoView({ block: 'nearest' });
  }, [chosen.value]);
  const id = files.get(kind.value) as string;
  return (
    <section class="plots" aria-label="Spectra" ref={section}>
      <div class="plots-head">
        <Choices
          label="Which spectra"
          options={kinds.map((value) => ({
            value,
            label: value === 'raw' ? 'Raw spectra' : 'Preprocessed',
          }))}
          chosen={kind.value}
          onChoose={(value) => {
            kind.value = value;
          }}
          small
        />
      </div>
      <SpectraOf key={id} id={id} kind={kind.value} chosen={chosen} />
    </section>
  );
}

function SpectraOf({ id, kind, chosen }: { id: string; kind: Kind; chosen: ChosenSample }) {
  const file = useArtifact(id, parseSpectra);
  const spectra = file.value.value;
  const sample = chosen.value;
  const place = spectra && sample ? placeOf(spectra, sample) : -1;
  return (
    <>
      <Unread of={file} what="The spectra" />
      {spectra && <SpectraPlot of={spectra} kind={kind} chosen={place} />}
      <p role="status">{spectra && sample && wordsOfChosen(spectra, sample.sample, place)}</p>
      {spectra && <p class="muted">{wordsOf(spectra)}</p>}
    </>
  );
}

const wordsOfChosen = ({ samples }: Spectra, sample: string, place: number): string =>
  place >= 0
    ? `The spectrum of sample ${sample} stands out.`
    : `The spectrum of sample ${sample} is not among the ${count(samples.names.length)} of ${count(samples.of)} that were kept.`;

function wordsOf({ steps, samples, axis }: Spectra): string {
  const part = (kept: number, of: number, word: string) =>
    kept < of ? `${count(kept)} of ${counted(of, word)}` : counted(of, word);
  const bounds = `${part(samples.names.length, samples.of, 'sample')}, ${part(axis.values.length, axis.of, 'column')}`;
  return steps.length > 0 ? `${bounds}, after ${steps.join(', ')}` : bounds;
}
