/** A string with its escapes, a bracket or separator, or a run of anything else (numbers, words). */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * Indents JSON as text: nothing is parsed, so `1.0` and numbers of twenty digits stay as they were written.
 */
export function indented(json: string): string {
  let out = '';
  let depth = 0;
  let opened = false;
  const line = () => `\n${'  '.repeat(depth)}`;
  for (const [token] of json.matchAll(TOKEN)) {
    const closes = token === '}' || token === ']';
    if (closes) depth--;
    if (opened ? !closes : closes) out += line();
    opened = token === '{' || token === '[';
    if (opened) depth++;
    if (token === ',') out += `,${line()}`;
    else if (token === ':') out += ': ';
    else out += token;
  }
  return out;
}
