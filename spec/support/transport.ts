import { chooseTransport, TRANSPORT_CHOICES, type TransportChoice } from '../../gateway/transport/choose.ts';
import type { TransportName } from '../../gateway/transport/transport.ts';

/**
 * The transport on which the specifications run in this process: `auto`, as everywhere, unless the environment names
 * another. `spec/transport` runs those of the gateway once more on the one that `auto` does not take.
 */
export const TRANSPORT: TransportChoice =
  TRANSPORT_CHOICES.find((name) => name === process.env.JQ_TEST_TRANSPORT) ?? 'auto';

/** The transport that this is on the machine at hand. */
export const transportHere = async (): Promise<TransportName> =>
  (await chooseTransport(TRANSPORT)).transport.name;
