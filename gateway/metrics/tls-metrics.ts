import type { Tls } from '../transport/tls.ts';
import type { Metrics } from './metrics.ts';

/** Until when the certificate is good that the server shows. */
export function tlsMetrics(metrics: Metrics, shown: () => Tls | undefined): void {
  metrics.gauge(
    'jq_tls_certificate_expires_seconds',
    'When the certificate of --tls-cert expires, in seconds since 1970; without one there is no such series',
    ['subject'],
    (tell) => {
      const tls = shown();
      if (tls) tell(tls.expiresAt, { subject: tls.subject });
    },
  );
}
