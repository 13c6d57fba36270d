// What of the gateway stands on its transport once more, on the one that `auto` does not take here: connections and how they
// end, heads, bodies, streams, and the order of the checks. What it says of credentials, events and jobs is said above it.
import { runOnTheOther } from './the-other.ts';

await runOnTheOther(
  'gateway',
  /^(access|base-path|bodies|checks|conformance|downloads|half-open|handshake|inspect|lifecycle|reading|reports|scarcity|streams|uploads|upgrades)\./,
);
