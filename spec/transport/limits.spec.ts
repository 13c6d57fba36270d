// Streams, uploads and downloads whose clients are slow or gone, once more, on the transport that `auto` does not take.
import { runOnTheOther } from './the-other.ts';

await runOnTheOther('scarcity', /^(clients|files|streams)\./);
