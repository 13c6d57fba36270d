/** The address of a file of the folder, from its report. */
export const href = (path: string): string => path.split('/').map(encodeURIComponent).join('/');
