/**
 * A file name as the head of a part can carry it: a part whose name holds a line break is passed over by multipart
 * parsers, and half a surrogate pair has no UTF-8 form.
 */
export const sendable = (filename: string): string => filename.replace(/[\p{Cc}\p{Cs}]/gu, '_');

/**
 * The name of a part as form data has it (RFC 7578, 4.2): in quotation marks, as UTF-8. What that cannot say to every
 * parser is said a second time in the extended form, which that document does not want and everybody reads.
 */
export function filenameParameter(filename: string): string {
  const plain = `filename="${filename.replaceAll('"', '%22')}"`;
  return /^[\x20-\x7e]*$/.test(filename) && !/["%\\]/.test(filename)
    ? plain
    : `${plain}; filename*=UTF-8''${encodeURIComponent(filename)}`;
}
