import type { MessageOf } from '../../../gateway/messages.ts';
import { clusterVersion } from '../../../machines/matching/matching.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { peerOf } from '../../../machines/protocol/peers.ts';
import type { WorkerCell } from '../runtime/actor-cell.ts';
import { NOTHING_MISSING } from '../scheduling/missing-paths.ts';
import type { WorkerRow } from '../store/rows.ts';
import type { Turn } from '../turn/turn.ts';
import type { Handler } from './handler.ts';
import { endDoubt, touch } from './liveness.ts';
import { notePeerOnce } from './note-peer.ts';
import { refuseOlderSessions } from './session.ts';

type Register = MessageOf<'register_worker'>;

/** Registers a worker; an id that the same principal registered before is taken up again. */
export const registerWorker: Handler<'register_worker'> = {
  preload: ({ registration: { worker_id } }) => ({ workers: worker_id === undefined ? [] : [worker_id] }),
  handle(message, { turn }) {
    const { settings, queue } = turn.core;
    const known = message.registration.worker_id;
    const earlier = known === undefined ? undefined : turn.findWorker(known);
    if (earlier && earlier.row.principal !== message.principal.name) {
      throw new ClusterError(
        'not_owner',
        `principal '${message.principal.name}' is not registered for worker ${known}`,
      );
    }
    const worker = earlier ?? turn.addWorker(newWorker(message, turn));
    declare(worker, message, turn);
    refuseOlderSessions(turn, worker);
    turn.tellWorker(worker, { type: 'REGISTER', slots_total: message.registration.slots_total ?? 1 });
    touch(turn, worker);
    // The program may be another than the one that was told, or listed, anything.
    worker.revoked.clear(turn);
    endDoubt(turn, worker);
    // What it lacked, and what tasks avoided it for, is tried anew; what it no longer declares, others may wait for.
    worker.update(turn, { missingPaths: NOTHING_MISSING });
    queue.profiles.prepare(worker, queue.index);
    const version = clusterVersion(worker.row.version);
    if (version !== null) notePeerOnce(turn, peerOf('worker', version));
    return {
      worker_id: worker.id,
      heartbeat_interval_s: settings.heartbeatInterval,
      lease_ttl_s: settings.leaseTtl,
      session: worker.row.session,
    };
  },
};

function newWorker({ principal, registration }: Register, turn: Turn): WorkerRow {
  return {
    id: turn.makeId('worker'),
    name: null,
    principal: principal.name,
    session: 0,
    status: 'alive',
    state: 'idle',
    registered_at: turn.now,
    last_seen_at: turn.now,
    labels: {},
    capabilities: {},
    version: {},
    slots_total: registration.slots_total ?? 1,
    slots_used: 0,
    suspended: null,
    leaving: null,
    drained: null,
  };
}

/** What the worker says of itself decides what it may run, from now on. */
function declare(worker: WorkerCell, { registration }: Register, turn: Turn): void {
  worker.amend(turn, {
    session: worker.row.session + 1,
    name: registration.name ?? null,
    labels: registration.labels ?? {},
    capabilities: registration.capabilities ?? {},
    // A copy, since a new object is how a registration is known.
    version: { ...registration.version },
  });
}
