import { escaped } from '../../gateway/ui/escape.ts';

/** A piece of HTML that is put into another as it is. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | null | undefined | false | readonly Part[];

/** HTML of a template: what is put into it is text, unless it is HTML itself. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((text, i) => text + written(parts[i])).join(''));
}

function written(part: Part): string {
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(written).join('');
  if (part === null || part === undefined || part === false) return '';
  return escaped(String(part));
}
