import type { TargetedSubmitEvent } from 'preact';
import { useId } from 'preact/hooks';
import type { LinkState } from '../api/link.ts';
import { useDashboard } from './context.ts';
import { Dialog } from './parts/dialog.tsx';
import { Icon } from './parts/icon.tsx';

/** Who the server takes the reader for, and another token. */
export function AccessDialog({ onClose }: { onClose: () => void }) {
  const { session } = useDashboard();
  const me = session.me.value;
  return (
    <Dialog title="Access" onClose={onClose}>
      {me && (
        <dl class="facts">
          <dt>Principal</dt>
          <dd>
            <bdi>{me.principal}</bdi>
          </dd>
          <dt>Rights</dt>
          <dd>{me.rights.join(', ') || 'none'}</dd>
        </dl>
      )}
      <TokenForm onDone={onClose} />
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function TokenForm({ onDone }: { onDone?: () => void }) {
  const { session, notices } = useDashboard();
  const id = useId();
  const use = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const field = event.currentTarget.elements.namedItem('token') as HTMLInputElement;
    const token = field.value.trim();
    if (token === '') return field.focus();
    session.use(token);
    onDone?.();
  };
  const forget = () => {
    session.use('');
    notices.say('The token is forgotten');
    onDone?.();
  };
  return (
    <form class="token-form" onSubmit={use}>
      <label for={id}>Token</label>
      <div class="token-row">
        <input
          id={id}
          name="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          placeholder={session.token.value ? 'another token' : ''}
          aria-describedby={`${id}-hint`}
        />
        <button type="submit" class="primary">
          Use token
        </button>
        {session.token.value && (
          <button type="button" onClick={forget}>
            Forget token
          </button>
        )}
      </div>
      <p id={`${id}-hint`} class="muted">
        Kept in this browser only, and sent with every request to this server.
      </p>
    </form>
  );
}

/** In place of the data, when the server does not let the reader see any: why, and what to do about it. */
export function AccessGate() {
  const { link } = useDashboard();
  const state = link.state.value;
  if (state.is !== 'refused') return null;
  return (
    <section class="card gate" aria-labelledby="gate-title">
      <h2 id="gate-title">
        <Icon name="key" />
        <Headline of={state} />
      </h2>
      <p>
        <Explanation of={state} />
      </p>
      <p class="muted said">
        The server says ({state.status}): <q>{state.why}</q>
      </p>
      {state.code !== 'host_refused' && <TokenForm />}
      <button type="button" onClick={() => link.retry()}>
        Try again
      </button>
    </section>
  );
}

type Refused = Extract<LinkState, { is: 'refused' }>;

function Headline({ of }: { of: Refused }) {
  const { session } = useDashboard();
  if (of.status === 403) return <>{of.code === 'missing_rights' ? 'This token may not read' : 'Refused'}</>;
  return <>{session.token.value ? 'The server does not know this token' : 'This server asks for a token'}</>;
}

function Explanation({ of }: { of: Refused }) {
  const { session } = useDashboard();
  if (of.status === 403 && of.code === 'missing_rights') {
    return (
      <>
        The token is valid, but it lacks the right <b>read</b>, without which nothing can be shown. Ask who
        runs the server for a token with the role viewer, submitter or executor.
      </>
    );
  }
  if (of.status === 403) return <>The server does not answer to this page under this address.</>;
  if (session.token.value) {
    return (
      <>It may have been mistyped, replaced or revoked. Enter the present one, or ask who runs the server.</>
    );
  }
  return <>Enter the token that you were given by who runs the server.</>;
}
