import { plain } from '../terminal/plain.ts';

/** Faults of this machine's files, by their code, in words. */
const LOCAL: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is used up',
  ENOENT: 'no such file or directory',
  ENOTDIR: 'a part of the path is not a directory',
  EISDIR: 'it is a directory',
  EEXIST: 'it exists already',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'too many symbolic links',
  EMFILE: 'too many open files',
  EIO: 'input/output error',
};

/** The sentence for a fault of this machine's files, or undefined when it is something else. */
export function localError(error: unknown): string | undefined {
  const { code, path } = error as NodeJS.ErrnoException;
  const words = code === undefined ? undefined : LOCAL[code];
  return words && `${path === undefined ? '' : `${plain(path)}: `}${words}`;
}
