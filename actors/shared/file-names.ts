/** Names that Windows keeps for devices, with any extension; see "Naming Files, Paths, and Namespaces". */
const DEVICE = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[\d\u00b9\u00b2\u00b3]) *(\.|$)/i;
/** Separators, wildcards, redirections, and the colon behind which a stream of a file is named. */
const REFUSED = /[<>:"/\\|?*]/;

export const isDeviceName = (name: string): boolean => DEVICE.test(name);

/** Whether Windows can hold a file or folder of this name, and gives it back under it. */
export function fitsWindows(name: string): boolean {
  const isControl = [...name].some((char) => char < ' ');
  // What ends with a dot or a space loses it, and is another file then.
  return !isControl && !REFUSED.test(name) && !/[. ]$/.test(name) && !isDeviceName(name);
}

/** What file managers and editors leave behind: hidden files, `~$` locks of Office, and these. */
const LEFTOVER = /^(\.|~\$|thumbs\.db$|ehthumbs\.db$|desktop\.ini$|__macosx$|icon\r$)/i;

/** Whether a file or folder of this name is no data of anybody. */
export const isLeftover = (name: string): boolean => LEFTOVER.test(name);
