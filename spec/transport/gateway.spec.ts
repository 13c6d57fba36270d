// The whole specification of the gateway once more, on the transport that `auto` does not take here.
import { runOnTheOther } from './the-other.ts';

await runOnTheOther('gateway');
