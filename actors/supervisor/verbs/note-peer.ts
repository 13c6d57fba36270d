import type { Turn } from '../turn.ts';
import type { Verb } from '../verb.ts';

/** Notes once that a compatible peer runs another version (contract, "Versioning"). */
export function notePeerOnce(turn: Turn, role: string, version: string): void {
  const { peers, settings, log } = turn.core;
  const peer = JSON.stringify([role, version]);
  if (version === settings.version || peers.has(peer) || peers.size > 1000) return;
  peers.add(peer);
  turn.onRollback(() => peers.delete(peer));
  log.warn({ role, version, server: settings.version }, 'a peer runs another version');
  turn.event(
    {},
    {
      level: 'warning',
      type: 'version_divergence',
      message: `a ${role} runs version ${version}, the server ${settings.version}`,
      data: { role, version, server_version: settings.version },
    },
  );
}

export const notePeer: Verb<'note_peer'> = {
  run({ role, version }, { turn }) {
    notePeerOnce(turn, role, version);
    return { ok: true };
  },
};
