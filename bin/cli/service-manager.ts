import { spawn } from 'node:child_process';

/**
 * The socket of the service manager, for units of `Type=notify`; see sd_notify(3). It is taken out of the environment
 * before anything is started: tasks have nothing to tell there.
 */
const socket = process.env.NOTIFY_SOCKET;
delete process.env.NOTIFY_SOCKET;

/**
 * Tells systemd how this program is, if it asked. Node.js has no sockets for datagrams between processes, so systemd's own
 * program does it; the unit therefore says `NotifyAccess=all`.
 * @param tellFailure gets the reason why systemd cannot be told
 */
export function tellServiceManager(
  state: 'READY=1' | 'STOPPING=1',
  tellFailure: (why: string) => void,
): void {
  if (!socket) return;
  const child = spawn('systemd-notify', [state], {
    env: { PATH: process.env.PATH, NOTIFY_SOCKET: socket },
    stdio: 'ignore',
  });
  child.on('error', ({ message }) => tellFailure(message));
  child.on('exit', (code, signal) => {
    if (code !== 0) tellFailure(`systemd-notify ended with ${signal ?? `code ${code}`}`);
  });
}
