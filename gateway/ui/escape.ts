const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text as HTML has it, within an element or in quotes. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] as string);
