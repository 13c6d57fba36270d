// The hostile input once more, on the transport that `auto` does not take here.
import { runOnTheOther } from './the-other.ts';

await runOnTheOther('hostile', /^(bodies|http|openapi|websocket)\./);
