import { type Peer, peerOf } from '../../../machines/protocol/peers.ts';
import type { Turn } from '../turn/turn.ts';
import type { Handler } from './handler.ts';

/** Notes once, for good, that a compatible peer runs another version (docs/protocol.md#versioning). */
export function notePeerOnce(turn: Turn, peer: Peer | null): void {
  const { peers, settings } = turn.core;
  if (!peer || peer.version === settings.version || !peers.isNew(peer)) return;
  const { role, version } = peer;
  peers.add(turn, peer);
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

export const notePeer: Handler<'note_peer'> = {
  handle({ role, version }, { turn }) {
    notePeerOnce(turn, peerOf(role, version));
    return { ok: true };
  },
};
