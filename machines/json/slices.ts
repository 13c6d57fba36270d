const FIRST_HALF = /[\ud800-\udbff]$/;

/** A text in slices of about `most` characters, each of which has a form in UTF-8 by itself. */
export function* slices(text: string, most: number): Generator<string> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + most);
    if (end < text.length && FIRST_HALF.test(text.charAt(end - 1))) end++;
    yield text.slice(at, end);
    at = end;
  }
}
