import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** What the pictures and tables of a part of the page are of, such as a job and one of its pipelines. */
const Of = createContext<readonly string[]>([]);

/** Characters of a name that go into the name of a file. */
const LONGEST = 40;

/** Files that are saved from here are named after it, behind what they are named after anyway. */
export function NamedAfter({ name, children }: { name: string; children: ComponentChildren }) {
  const outer = useContext(Of);
  return <Of.Provider value={[...outer, name]}>{children}</Of.Provider>;
}

/** A name for a file, without its ending. */
export const useFileName = (what: string): string =>
  [...useContext(Of).map((name) => filePart(name).slice(0, LONGEST)), filePart(what)]
    .filter((part) => part !== '')
    .join('-');

/** In letters and digits that all file systems take. */
export const filePart = (name: string): string =>
  name.replaceAll(/[^\p{L}\p{N}_.]+/gu, '-').replaceAll(/^[-.]+|[-.]+$/g, '');
