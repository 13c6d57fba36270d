/** A string with its escapes, a bracket or separator, or a run of anything else (numbers, words). */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * Indents JSON as text: nothing is parsed, so `1.0` and numbers of twenty digits stay as they were written.
 * @param width characters of a line, in which objects and arrays stay that fit into it; else each value has its own
 */
export function indented(json: string, width = 0): string {
  const tokens = json.match(TOKEN) ?? [];
  let out = '';
  let depth = 0;
  let opened = false;
  const line = () => `\n${'  '.repeat(depth)}`;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as string;
    const closes = token === '}' || token === ']';
    if (closes) depth--;
    if (opened ? !closes : closes) out += line();
    const room = width - (out.length - out.lastIndexOf('\n') - 1);
    const short = inOneLine(tokens, i, room);
    if (short !== null) {
      out += short.text;
      i = short.last;
      opened = false;
      continue;
    }
    opened = token === '{' || token === '[';
    if (opened) depth++;
    if (token === ',') out += `,${line()}`;
    else if (token === ':') out += ': ';
    else out += token;
  }
  return out;
}

/** The object or array that begins here, in so many characters at most, a comma behind it among them; else null. */
function inOneLine(tokens: readonly string[], first: number, room: number) {
  if (tokens[first] !== '{' && tokens[first] !== '[') return null;
  let text = '';
  let depth = 0;
  for (let last = first; last < tokens.length; last++) {
    const token = tokens[last] as string;
    if (token === '{' || token === '[') depth++;
    if (token === '}' || token === ']') depth--;
    text += token === ',' || token === ':' ? `${token} ` : token;
    if (text.length >= room) return null;
    if (depth === 0) return { text, last };
  }
  return null;
}
