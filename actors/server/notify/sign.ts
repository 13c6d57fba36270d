import { createHmac } from 'node:crypto';

/** What a request of [Standard Webhooks](https://www.standardwebhooks.com) says of itself in its headers. */
export interface Message {
  /** The same at each try: who has taken it knows it again. */
  id: string;
  /** Seconds since the epoch, of the try. */
  timestamp: number;
  body: string;
}

/** Headers by which the receiver knows who sent a body, that it is as it was, and that it is no copy of an old one. */
export function signed({ id, timestamp, body }: Message, key: Uint8Array): Record<string, string> {
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}
