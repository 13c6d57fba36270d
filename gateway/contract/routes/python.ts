import { ClusterError } from '../../../machines/protocol/errors.ts';
import { type PythonClient, pythonClient } from '../../python/wheel.ts';
import { type FileRoute, file, type Route } from '../route.ts';

/**
 * The client for Python, which is open to everybody: it holds no more than the source of this project, and pip sends no
 * credential. The table comes as a function, since it is not whole yet.
 */
export function python(table: () => readonly (readonly [string, Route])[]): {
  pythonClient: FileRoute;
  pythonWheel: FileRoute;
} {
  let made: Promise<PythonClient> | undefined;
  const client = (): Promise<PythonClient> => {
    made ??= pythonClient(table()).catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
  return {
    pythonClient: file({
      method: 'get',
      path: '/client/python',
      summary: 'The client for Python, for `pip install` of this address',
      right: null,
      tag: 'health',
      type: 'application/zip',
      find: async () => (await client()).source,
    }),
    pythonWheel: file({
      method: 'get',
      path: '/client/python/{file}',
      summary: 'The same as a wheel, under its own name',
      right: null,
      tag: 'health',
      type: 'application/zip',
      errors: ['unknown_id'],
      find: async (params) => {
        const { wheel } = await client();
        if (params.file === wheel.name) return wheel;
        throw new ClusterError('unknown_id', `the wheel of this server is called ${wheel.name}`);
      },
    }),
  };
}
