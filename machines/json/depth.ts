/** Deeper nesting would end in a stack overflow wherever somebody walks the document. */
export const MAX_DEPTH = 500;

const QUOTE = 34;
const BACKSLASH = 92;

/** Whether brackets nest deeper than `max`; works on text that is not valid JSON as well. */
export function depthExceeds(text: string, max: number): boolean {
  if (text.length <= max) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === BACKSLASH) i++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === 123 || code === 91) {
      if (++depth > max) return true;
    } else if (code === 125 || code === 93) depth--;
  }
  return false;
}
